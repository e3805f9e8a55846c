"""The memorization audit (Jayaraman et al., NeurIPS 2024)."""
