"""Stop a program that would read files, and names of files, in another encoding than UTF-8."""

import codecs
import locale
import sys

from clipaudit.errors import ConfigError


def refuse_other_encodings() -> None:
    """Raise ConfigError if Python takes names and contents of files for other text than UTF-8.

    It does so with a locale such as `en_US.ISO-8859-1`; with C and POSIX it does not.
    """
    for encoding in (sys.getfilesystemencoding(), locale.getpreferredencoding(False)):
        name = codecs.lookup(encoding).name
        if name != "utf-8":
            raise ConfigError(
                f"the encoding of this locale is {name}, not utf-8: files, and names of files, "
                "would be misread. Set PYTHONUTF8=1 and start the same command again."
            )
