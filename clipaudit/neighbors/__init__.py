"""Exact nearest neighbours in both directions, over arrays, without files."""
