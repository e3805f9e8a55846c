"""Finds pairs of training images that may be copies of each other."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from clipaudit.copies.candidates import CANDIDATES, Described, find_candidates
from clipaudit.copies.embedded import embedded_sides
from clipaudit.copies.search_limits import Thresholds
from clipaudit.corpora.addresses import sample_addresses
from clipaudit.store.actions import LabelledFile


def find_repeats(
    earlier: Described,
    own: Described,
    thresholds: Thresholds,
    *,
    earlier_embeddings: Sequence[LabelledFile] = (),
    embeddings: Sequence[LabelledFile] = (),
) -> pa.Table:
    """Return CANDIDATES between the images of a part and those up to them, of the same corpus.

    `earlier` is the corpus up to the last image of `own`, which it includes. Pairs are found as by
    `find_candidates`. The pairs of a corpus with itself grow with its square, so the limits of a
    training image follow from the number of images up to it: candidates do not depend on how the
    corpus is cut into parts. Files of embeddings are labelled with their encoder.
    """
    known = np.sort(sample_addresses(earlier.images))
    found = [CANDIDATES.empty_table()]
    for places, limits in thresholds.runs(len(known) - len(own.images) + 1, len(known)):
        some = _between(own, *known[[places[0] - 1, places[-1] - 1]].tolist())
        found.append(
            find_candidates(
                earlier,
                some,
                distance=limits.distance,
                embedded=embedded_sides(
                    earlier_embeddings, embeddings, some.images, limits.similarity
                ),
                within=True,
            )
        )
    return pa.concat_tables(found)


def _between(described: Described, first: int, last: int) -> Described:
    """Return the samples with addresses from `first` to `last`."""
    kept = []
    for table in described:
        addresses = sample_addresses(table)
        kept.append(table.filter(pa.array((addresses >= first) & (addresses <= last))))
    return Described(*kept)
