"""The fourth audit: finds test images in the training data, without a model."""
