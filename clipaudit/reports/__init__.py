"""The tables and figures people read."""
