"""Training: trains CLIP models and classifiers on any manifest."""
