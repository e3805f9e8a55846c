"""Runs: the event log of a run of Snakemake, and its progress."""
