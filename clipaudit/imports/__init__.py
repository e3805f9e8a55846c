"""Imports: data of other tools, checked and described as blocks of the settings."""
