"""The fourth audit: which test images lie in the training data, told without a model."""
