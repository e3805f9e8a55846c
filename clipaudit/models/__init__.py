"""Models: built from settings or loaded from checkpoints, fed with pictures; no pickled code."""
