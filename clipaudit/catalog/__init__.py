"""The catalog: every table of a run for SQL, the meanings of columns, and query answers."""
