"""The tables, figures and galleries of the similarity audit."""
