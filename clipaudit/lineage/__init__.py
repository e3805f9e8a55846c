"""Lineage: which action put what where, what each action was made of, and what follows from it."""
