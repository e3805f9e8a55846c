"""Unicode's scripts by their names."""

from functools import cache

from fontTools import unicodedata

NO_SCRIPTS = ("Common", "Inherited", "Unknown")


@cache
def script_of(character: str) -> str:
    """Return the name of a character's script, as Unicode has it.

    >>> script_of("a"), script_of("語"), script_of("1")
    ('Latin', 'Han', 'Common')
    """
    return str(unicodedata.script_name(unicodedata.script(character)))


def is_script(name: str) -> bool:
    """Return whether Unicode has a script of that name.

    >>> is_script("Cyrillic"), is_script("cyrillic"), is_script("Common")
    (True, False, False)
    """
    code = unicodedata.script_code(name, "")
    return bool(code) and unicodedata.script_name(code) == name and name not in NO_SCRIPTS
