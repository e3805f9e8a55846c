"""Embeddings of images and captions: computed here, or given."""
