"""The fused search: a Triton kernel that screens, and the code that launches it."""
