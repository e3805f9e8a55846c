"""The catalog: every table of a run for SQL, what its columns mean, and answers from it."""
