"""Exact nearest neighbours in both directions; pure arrays, no files."""
