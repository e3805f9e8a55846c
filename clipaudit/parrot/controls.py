"""Controls: curated sets with one change, for training by the same recipe.

`<set>.erased` has the set's samples without the text in their images, erased as for caption scores
(Lin et al., ECCV 2024, https://arxiv.org/abs/2312.14232, Sec. 5.1). `<set>.swapped` has its images
with each other's captions. The paper has neither; they separate what a model learns from text in
images from what it learns from captions that do not fit. `corpora.repacking` writes both.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from PIL import Image

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.blurring import encoded
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import Unusable
from clipaudit.errors import InputError
from clipaudit.parrot.erased_pictures import Reduced
from clipaudit.parrot.erasing import Fill, erase_polygons
from clipaudit.parrot.spans import spans_of


@dataclass(frozen=True)
class Lengths:
    """Parameters of erasing: radius and dilation in an image whose shorter side is 224 pixels."""

    radius: float
    dilation: float
    shorter_side: int  # larger images with text are scaled down to it first
    fill: Fill = "telea"


class WithoutText:
    """Erases the text from image files; a file without text stays unchanged."""

    def __init__(self, spans: pa.Table, lengths: Lengths) -> None:
        """Take the SPANS of the samples, in any order."""
        self._spans = spans
        self._lengths = lengths
        addresses = sample_addresses(spans)
        self._order = np.argsort(addresses)
        self._addresses = addresses[self._order]

    def __call__(self, address: int, image: bytes) -> bytes:
        """Return the image file of the sample at `address`, text erased, in its own format.

        The new file is lossless, except JPEG, of quality 95. Raises InputError for a sample without
        a row of SPANS or whose image cannot be decoded: indexing and spotting drop such samples.
        """
        place = int(np.searchsorted(self._addresses, address))
        if place == len(self._addresses) or self._addresses[place] != address:
            raise _strange(address, "was not read for text")
        (spans,) = spans_of(self._spans.slice(int(self._order[place]), 1))
        if not spans:
            return image
        lengths = self._lengths
        try:
            picture = open_picture(image)
        except Unusable as error:
            raise _strange(address, f"has an image that cannot be decoded: {error}") from error
        stored = np.asarray(Reduced(lengths.shorter_side)(picture.rgb))
        erased = erase_polygons(
            stored,
            [span.polygon for span in spans],
            (picture.height, picture.width),
            radius=lengths.radius,
            dilation=lengths.dilation,
            fill=lengths.fill,
        )
        return encoded(Image.fromarray(erased), picture.format)


def _strange(address: int, what: str) -> InputError:
    return InputError(
        f"shard {address >> 32}, row {address & 0xFFFFFFFF}: the set keeps a sample that {what}. "
        "Make the set's manifest again, from the spans of this corpus."
    )
