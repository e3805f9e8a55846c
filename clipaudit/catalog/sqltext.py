"""Names and texts, as SQL writes them."""


def literal(text: str) -> str:
    """Return a text as an SQL literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as an SQL identifier, whatever words SQL reserves.

    >>> identifier("set")
    '"set"'
    """
    return '"' + name.replace('"', '""') + '"'
