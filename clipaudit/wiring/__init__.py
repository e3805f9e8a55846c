"""The rules' side of the library: which files and settings each job is given."""
