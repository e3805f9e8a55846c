"""Fixed values of the parrot-caption audit.

Modules that compute use them, so they are outside the module of settings, which code digests leave
out.
"""

ANSWER = "has_text"  # the column of the files in `checked`
MOST_CLUSTERS = 4000  # the paper's number, if the settings name none
