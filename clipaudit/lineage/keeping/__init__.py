"""Verification, repair and collection of what a store holds."""
