"""Reads the URLs of samples from their JSON."""

import json

import pyarrow as pa


def stated_urls(metadata: pa.ChunkedArray) -> pa.Array:
    """Return the URL that the JSON of each sample states; null if it states none.

    >>> stated_urls(pa.chunked_array([['{"url": "a"}', '{"url": 1}', None]])).to_pylist()
    ['a', None, None]
    """
    return pa.array([_stated(text.as_py()) for text in metadata], pa.string())


def _stated(text: str | None) -> str | None:
    url = json.loads(text).get("url") if text is not None else None
    if not isinstance(url, str) or any("\ud800" <= character <= "\udfff" for character in url):
        return None  # half of a surrogate pair is valid JSON, but not in a table
    return url
