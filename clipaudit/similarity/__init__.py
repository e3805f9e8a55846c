"""The similarity audit (Mayilvahanan et al., ICLR 2024)."""
