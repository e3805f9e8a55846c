"""Imports: checks data of other tools and describes it as blocks of the settings."""
