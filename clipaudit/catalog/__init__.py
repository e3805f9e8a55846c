"""The catalog: the report's tables and their sources for SQL, meanings of columns, answers."""
