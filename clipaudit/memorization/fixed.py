"""Fixed values of the memorization audit.

Modules that compute use them, so they are outside the module of settings, which code digests leave
out.
"""

RECORD_SETS = ("a", "b", "holdout")  # whose captions are attacked; models train on the first two

COCO = "coco"  # names of objects that are built in, in no file

# by measure of the pair tests, a false-positive rate of one in so many: the fewest hold-out records
# it needs
RATES = {"tpr_1": 100, "tpr_01": 1000}

# images that predict a caption's objects: a vote packs record (12 bits), label (32) and rank (19)
# into 63 bits
MOST_NEIGHBORS = 1 << 19
