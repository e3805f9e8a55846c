"""Wiring for the rules: the files and settings that each job gets."""
