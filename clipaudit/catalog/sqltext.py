"""Quote names and texts for SQL."""


def literal(text: str) -> str:
    """Return a text as an SQL literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as a quoted SQL identifier, safe for reserved words.

    >>> identifier("set")
    '"set"'
    """
    return '"' + name.replace('"', '""') + '"'
