"""Turn faults of remotes into our errors: missing, denied, or possibly temporary.

Messages of other libraries sometimes hold signed URLs; they are repeated without secrets.
"""

from clipaudit.errors import InputError
from clipaudit.remote.urls import PACKAGES, hidden, scheme_of

_MAY_PASS = {408, 425, 429}  # temporary HTTP status codes below 500
_MOST_TOLD = 200  # characters of another library's message
_LONGEST_PAUSE = 600.0  # seconds that a server may ask for


def final_fault(url: str, error: Exception) -> InputError | None:
    """Return our error for a fault that another attempt would meet again; None for others."""
    scheme = scheme_of(url)
    package = PACKAGES.get(scheme, "a package of fsspec's")
    if isinstance(error, ImportError):
        return InputError(
            f"{url}: {scheme}:// is read by {package}, which cannot be imported "
            f"({cause_of(error)}). Install it: pip install {package}."
        )
    status = _status(error)
    if isinstance(error, PermissionError) or status in {401, 403} or _lacks_credentials(error):
        return InputError(
            f"{url}: access is denied ({cause_of(error)}). Give credentials where {package} looks "
            "for them, such as its environment variables: docs/remote.md lists them."
        )
    if isinstance(error, FileNotFoundError) or status in {404, 410}:
        return InputError(
            f"{url}: no such object{_or_bucket(url)}. Correct the URL under `corpora` in the "
            "settings, or upload the shard."
        )
    if status is not None and 400 <= status < 500 and status not in _MAY_PASS:
        return InputError(f"{url}: refused ({cause_of(error)}). Check the URL.")
    return None


def asked_pause(error: Exception) -> float:
    """Return the seconds that a server asks to wait by Retry-After, at most ten minutes; else 0."""
    for bearer in (error, getattr(error, "response", None)):  # aiohttp's, huggingface_hub's
        asked = str((getattr(bearer, "headers", None) or {}).get("Retry-After", ""))
        if asked.isascii() and asked.isdigit():
            return min(float(asked), _LONGEST_PAUSE)
    return 0.0


def tired(url: str, error: Exception, *, attempts: int) -> InputError:
    """Return the error after the last failed attempt."""
    return InputError(
        f"{url}: cannot be read after {attempts} attempts ({cause_of(error)}). Check the network "
        "and the server, then start the same command again: finished work is kept."
    )


def cause_of(error: Exception) -> str:
    """Return the kind of an error and the first line of its message, without secrets.

    >>> cause_of(OSError("https://host/0.tar?Signature=abc\\nbody"))
    'OSError: https://host/0.tar?…'
    """
    told = hidden(next(iter(str(error).splitlines()), ""))[:_MOST_TOLD]
    return f"{type(error).__name__}: {told}" if told else type(error).__name__


def _status(error: Exception) -> int | None:
    """Return the HTTP status in an error of aiohttp, gcsfs or huggingface_hub."""
    for bearer, name in (
        (error, "status"),
        (error, "code"),
        (getattr(error, "response", None), "status_code"),
    ):
        found = getattr(bearer, name, None)  # one by one: aiohttp's `code` warns
        if isinstance(found, int):
            return found
    return None


def _lacks_credentials(error: Exception) -> bool:
    """Return whether a library found no credentials at all; these errors share no base class."""
    names = {"NoCredentialsError", "PartialCredentialsError", "DefaultCredentialsError"}
    return any(each.__name__ in names for each in type(error).__mro__)


def _or_bucket(url: str) -> str:
    """Return a mention of the bucket, if there is one: stores give the same answer for both."""
    scheme, _, rest = url.partition("://")
    return f", or no bucket {rest.partition('/')[0]}" if scheme in {"s3", "gs"} else ""
