"""Provenance of a run in standard formats: RO-Crate and OpenLineage."""
