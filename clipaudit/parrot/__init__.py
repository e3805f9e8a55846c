"""The parrot-caption audit (Lin et al., ECCV 2024)."""
