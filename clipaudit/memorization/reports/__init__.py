"""The tables, figures and galleries of the memorization audit."""
