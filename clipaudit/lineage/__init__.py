"""Lineage: which action placed each file, what each action was made of, and what follows."""
