"""Returns the values that join external rows to samples: keys, uids or URLs."""

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.urls import stated_urls
from clipaudit.errors import InputError
from clipaudit.plaintext import plain


def join_values(samples: pa.Table, join_on: Literal["key", "uid", "url"]) -> pa.Array:
    """Return the value that joins each of SAMPLES, as text; null if it has none.

    Raise InputError for a value that two samples share.
    """
    if join_on == "url":
        values = stated_urls(samples["metadata"])
    else:
        values = samples[join_on].combine_chunks()
    counts = pc.value_counts(values.drop_null()).to_pylist()
    shared = [each["values"] for each in counts if each["counts"] > 1]
    if shared:
        raise InputError(
            f"{len(shared)} values of {join_on} belong to several samples of this part, first "
            f"{plain(shared[0])!r}, so rows cannot be assigned. Join on another field."
        )
    return values
