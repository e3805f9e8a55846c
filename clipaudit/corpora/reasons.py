"""Defines why a sample cannot be used: the constant values of the column `reason` in drops.

Standard library only, since `clipaudit stream` imports it.
"""

from clipaudit.errors import InputError

# found while reading the tar
DUPLICATE_KEY = "duplicate key"  # an earlier sample of this tar has the key
DUPLICATE_MEMBER = "duplicate member"  # two members of the sample share their extension
HOSTILE_NAME = "hostile member name"  # absolute, "..", control characters, absurdly long
NOT_A_FILE = "member is not a plain file"  # a link, a device, a pipe or a sparse file
TOO_LARGE = "sample too large"  # more bytes than one sample may have
TRUNCATED = "truncated tar"  # the tar ends within the sample or without its end marker
DAMAGED = "damaged tar"  # the bytes after the sample's last readable member are not a tar

# found while listing a folder, or while reading rows of Parquet
UNREADABLE = "unreadable file"
OUTSIDE = "link to outside the folder"
DAMAGED_ROWS = "damaged row group"

# found while reading rows that list samples without images, where keys may also repeat
NO_KEY = "no key"

# found while reading the sample
NO_IMAGE = "no image"
UNREAD_FORMAT = "image format not read"  # by the names of the sample's members, or by content
CORRUPT_IMAGE = "corrupt image"
ABSURD_SIZE = "absurd image size"
NO_CAPTION = "no caption"
BAD_CAPTION = "bad caption"  # not UTF-8, or not a text
NO_LABEL = "no label"
BAD_LABEL = "bad label"  # not an integer, or below 0
UNKNOWN_CLASS = "unknown class"  # a label beyond the classes of the label set
BAD_JSON = "bad json"  # not UTF-8, not JSON, or not an object
TEXT_TOO_LONG = "text too long"


class Unusable(InputError):
    """One sample cannot be used; `reason` is one of this module's constants, `detail` says more.

    >>> str(Unusable(BAD_LABEL, "b'cat' is not an integer"))
    "bad label: b'cat' is not an integer"
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        """Keep the reason and the detail apart, for the two columns of drops."""
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type["Unusable"], tuple[str, str]]:
        """Pickle by both parts: a worker process may raise this."""
        return type(self), (self.reason, self.detail)
