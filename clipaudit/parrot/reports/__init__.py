"""The tables, figures and galleries of the parrot audit."""
