"""Fixed values of the copies audit.

Modules that compute use them, so they are outside the module of settings, which code digests leave
out.
"""

HASH = "hash"  # the method that needs no encoder, as tables name it
MAX_DISTANCE = 80  # of two hashes of 256 bits; unrelated images are 128 apart on average
MOST = 50  # candidates of a training image within one searched set, the nearest ones
