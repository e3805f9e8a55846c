"""The fused search: a Triton kernel that screens, and what starts it."""
