"""Corpora: shards of samples, their parts, samples, manifests and streams."""
