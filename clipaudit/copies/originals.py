"""Opens the images that copies are made of for the calibration."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from clipaudit.copies.calibrating import pick_originals
from clipaudit.copies.verified import COMPARED_SIDE
from clipaudit.copies.views import Rgb, reduced
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.lookup import paths_by_corpus, read_pictures
from clipaudit.store.actions import LabelledFile


def read_originals(
    samples: Sequence[LabelledFile],
    tars: Sequence[Path],
    shards: Mapping[str, int],
    *,
    count: int,
    seed: int,
) -> list[Rgb]:
    """Return the originals that `pick_originals` picks, by corpus, then address.

    `shards` gives the corpora, and how many of the `tars`, in order, belong to each.
    """
    tables = {
        corpus: pa.concat_tables(
            file.table("shard", "row") for file in samples if file.labels["corpus"] == corpus
        )
        for corpus in shards
    }
    picked = pick_originals(tables, count=count, seed=seed)
    paths = paths_by_corpus(tars, shards.items())
    originals = []
    for corpus, addresses in picked.items():
        files = read_pictures(paths[corpus], addresses.tolist())
        for address in addresses.tolist():
            rgb = np.asarray(open_picture(files[address], as_shown=True).rgb)
            originals.append(reduced(rgb, COMPARED_SIDE))
    return originals
