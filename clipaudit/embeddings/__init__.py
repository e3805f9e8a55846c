"""Embeddings of pictures and captions: computed, or given by others."""
