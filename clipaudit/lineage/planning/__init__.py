"""What would be computed now, why, and at what cost."""
