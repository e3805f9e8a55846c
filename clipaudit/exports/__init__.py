"""Exports: writes kept samples in the formats of other tools."""
