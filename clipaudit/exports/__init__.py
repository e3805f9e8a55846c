"""Exports: kept samples in the formats of other tools."""
