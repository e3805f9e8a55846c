"""Training of CLIP models on any manifest."""
