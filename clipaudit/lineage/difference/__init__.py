"""What differs between two runs, and the first causes."""
