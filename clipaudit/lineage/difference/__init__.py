"""Compare two runs: their differences, and the first causes."""
