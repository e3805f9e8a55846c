"""Provenance of a run in the formats of others: RO-Crate and OpenLineage."""
