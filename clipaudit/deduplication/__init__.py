"""Deduplication by embeddings (SemDeDup): clusters, and what repeats what within them."""
