"""clipaudit: audits the training data of CLIP-style image-text models."""
