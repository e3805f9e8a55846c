"""Models: builds or loads them without pickled code, and feeds them with images."""
