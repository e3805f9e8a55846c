"""Look up the images of samples in galleries, or their uids if images may not be shown."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from clipaudit.corpora.addresses import sample_addresses, shard_row
from clipaudit.corpora.lookup import paths_by_corpus, read_pictures, rows_of_shards
from clipaudit.errors import InputError
from clipaudit.reports.gallery_options import Sources
from clipaudit.store.actions import LabelledFile

Pictures = Mapping[tuple[str, int], bytes | str]  # by (corpus, address): an image file, or a uid


def shown_pictures(
    wanted: Mapping[str, Iterable[int]],
    sources: Sources,
    tars: Sequence[Path],
    samples: Sequence[LabelledFile],
) -> Pictures:
    """Return the image file or uid of each sample, given by corpus and address.

    The image files of the corpora in `sources` come from `tars`; for other corpora the uids come
    from the tables of `samples`.
    """
    paths = paths_by_corpus(tars, ((each.corpus, each.shards) for each in sources.tars))
    found: dict[tuple[str, int], bytes | str] = {}
    for corpus, addresses in wanted.items():
        shown: Mapping[int, bytes | str] = (
            read_pictures(paths[corpus], addresses)
            if corpus in paths
            else _uids(corpus, set(addresses), samples)
        )
        found |= {(corpus, address): each for address, each in shown.items()}
    return found


def _uids(corpus: str, wanted: set[int], samples: Sequence[LabelledFile]) -> dict[int, str]:
    """Return uids by address; raises InputError for a sample missing from the tables."""
    paths = [file.path for file in samples if file.labels["corpus"] == corpus]
    found: dict[int, str] = {}
    for table in rows_of_shards(paths, {shard_row(address)[0] for address in wanted}):
        addresses = sample_addresses(table)
        kept = np.isin(addresses, list(wanted))
        uids = table["uid"].filter(pa.array(kept)).to_pylist()
        found.update(zip(addresses[kept].tolist(), uids, strict=True))
    missing = wanted - found.keys()
    if missing:
        shard, row = shard_row(min(missing))
        raise InputError(
            f"{corpus}: no uid of row {row} of shard {shard}, which a gallery shows: the index has "
            f"{len(found)} of the {len(wanted)} samples shown. "
            "Run the workflow again from the index of this corpus."
        )
    return found
