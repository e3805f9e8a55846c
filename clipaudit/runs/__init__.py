"""Runs: what a run of Snakemake notes of itself, and how far it is."""
