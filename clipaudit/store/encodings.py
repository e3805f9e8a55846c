"""Stop a program that would read files, and names of files, in another encoding than UTF-8."""

import codecs
import locale
import sys

from clipaudit.errors import ConfigError


def refuse_other_encodings() -> None:
    """Raise ConfigError unless Python reads files, and names of files, as UTF-8.

    With the locales C and POSIX it does; with others, such as `en_US.ISO-8859-1`, it does not.
    """
    for encoding in (sys.getfilesystemencoding(), locale.getpreferredencoding(False)):
        name = codecs.lookup(encoding).name
        if name != "utf-8":
            raise ConfigError(
                f"the encoding of this locale is {name}, not utf-8: files, and names of files, "
                "would be misread. Set PYTHONUTF8=1 and start the same command again."
            )
