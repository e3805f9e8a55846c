"""Check URLs of shards: their scheme is supported, and they hold no secret.

URLs appear in settings, records, logs and reports, so they must not hold credentials:
user:password@, or queries, which may hold signatures. Standard library only.
"""

import os
import re
from collections.abc import Mapping

from clipaudit.errors import ConfigError

PACKAGES: Mapping[str, str] = {  # the package that reads each scheme
    "s3": "s3fs",
    "gs": "gcsfs",
    "hf": "huggingface_hub",
    "https": "aiohttp",
    "http": "aiohttp",
}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
# A bucket, or Amazon's long name of one, or a host; of a pattern, too. A password may contain a /.
_AUTHORITY = re.compile(r"[\w.{},-]+(:\d+)?|arn:[\w.:-]+")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 8  # characters; shorter values may be any word, and are not hidden


def is_url(text: str) -> bool:
    """Return whether a shard is named by URL, with any scheme.

    >>> is_url("s3://bucket/0.tar"), is_url("data/s3/0.tar")
    (True, False)
    """
    return _URL.match(text) is not None


def scheme_of(url: str) -> str:
    """Return the scheme of a URL.

    >>> scheme_of("s3://bucket/0.tar")
    's3'
    """
    return url.partition("://")[0]


def check_url(url: str) -> None:
    """Raise ConfigError unless a URL or URL pattern is supported and free of secrets.

    The message repeats no secret.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in PACKAGES:
        raise ConfigError(
            f"{hidden(url)}: shards are read from {', '.join(f'{each}://' for each in PACKAGES)} "
            "and from files. Copy them to one of these."
        )
    authority, _, path = rest.partition("/")
    if authority and not _AUTHORITY.fullmatch(authority):
        raise ConfigError(
            f"{scheme}://…: what follows is no name of a bucket or host. A user or password in a "
            "URL would appear in logs and reports. Remove it; docs/remote.md says where "
            "credentials belong."
        )
    if "?" in rest or "#" in rest:
        raise ConfigError(
            f"{hidden(url)}: a URL with a query or fragment is refused: a signature would appear "
            "in logs and reports. Remove it; docs/remote.md says where credentials belong."
        )
    if not authority or not path or ".." in path.split("/") or "::" in path:
        raise ConfigError(
            f"{url}: not the URL of a shard. Write {scheme}://, a bucket or host, and a path."
        )


def hidden(text: str) -> str:
    """Return another library's message without possible secrets.

    Dots replace queries and fragments of URLs, users and passwords before their hosts, and the
    values of environment variables whose names suggest secrets.

    >>> hidden("GET https://me:pw@host/0.tar?Signature=abc failed")
    'GET https://…@host/0.tar?… failed'
    """
    text = re.sub(r"(\w://)(?:[^/\s'\":]*:(?!\d+/)[^\s'\"]*|[^/\s'\"]*)@", r"\1…@", text)
    text = re.sub(r"(\w://[^\s'\"?#]*)([?#])[^\s'\")]+", r"\1\2…", text)
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "…")
    return text
