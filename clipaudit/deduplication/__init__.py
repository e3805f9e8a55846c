"""Deduplication by embeddings (SemDeDup): clusters, and the duplicates within them."""
