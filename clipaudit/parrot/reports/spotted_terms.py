"""Make the images that explain erasing: masks of text, erased images, and the text alone.

Lin et al., ECCV 2024, Fig. 2: https://arxiv.org/abs/2312.14232. Erased images are not stored, so
the same method that erased text before scoring erases it again.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from PIL import Image

from clipaudit.corpora.addresses import sample_address, sample_addresses
from clipaudit.parrot.erasing import mask_of, scaled, scaled_length
from clipaudit.parrot.matching import co_embedded
from clipaudit.parrot.spans import Polygon, spans_of
from clipaudit.parrot.spotted_options import TermOptions
from clipaudit.parrot.synthetic import Style, Typeface, render
from clipaudit.parrot.tokens import Tokenization
from clipaudit.plaindata import Row

STYLE: Style = "black-white"  # of synthetic text: stands out from a page
TERMS = {  # in the figure's order
    "raw": "Image",
    "all_mask": "All text",
    "co_mask": "Co-emb. text",
    "all": "All text removed",
    "co": "Co-emb. text removed",
    "random_all": "Donor's text area removed",
    "synthetic": "Synthetic",
}


def term_pictures(
    image: Image.Image,
    example: Row,
    texts: pa.Table,
    typeface: Typeface,
    how: TermOptions,
    tokenization: Tokenization,
) -> dict[str, Image.Image]:
    """Return the images that explain an example, a row of SPOTTED_EXAMPLES, by TERMS.

    `image` is the stored image, `texts` the EXAMPLE_TEXTS of its corpus. Random removal is absent
    if no other image of the shard has text.
    """
    # imported here because it needs torch, which no other gallery does
    from clipaudit.parrot.erased_pictures import Erasing, Reduced, kinds_of

    stored = np.asarray(Reduced(how.shorter_side)(image))
    pictures = _erasable(example, texts)
    erased = Erasing(pictures, tokenization, how.radius, how.dilation, how.fill)
    own = pictures.filter(pa.array(sample_addresses(pictures) == _address(example)))
    made = erased.all_kinds(example["shard"], example["row"], stored)
    found = dict(zip(kinds_of(own)[0], made, strict=True))
    size = (own["height"][0].as_py(), own["width"][0].as_py())
    for name, polygons in text_polygons(own, example["co_words"], tokenization).items():
        found[f"{name}_mask"] = _mask(polygons, size, stored, how.dilation)
    size_of = {"side": how.side, "type_size": how.type_size}
    found["synthetic"] = render(example["co_words"], STYLE, typeface, **size_of)
    return {term: Image.fromarray(found[term]).convert("RGB") for term in TERMS if term in found}


def text_polygons(
    own: pa.Table, co_words: str, tokenization: Tokenization
) -> dict[str, Sequence[Polygon]]:
    """Return the polygons of one row's spans: `all`, and `co`, those of co-embedded words."""
    (spans,) = spans_of(own)
    return {
        "all": [span.polygon for span in spans],
        "co": co_embedded(spans, set(co_words.split()), tokenization),
    }


def _erasable(example: Row, texts: pa.Table) -> pa.Table:
    """Return the rows that `Erasing` needs for an example and its donor, by (shard, row)."""
    addresses = [_address(example)]
    if example["donor_row"] is not None:
        addresses.append(sample_address(example["shard"], example["donor_row"]))
    own = texts.filter(pa.array(np.isin(sample_addresses(texts), addresses)))
    assert len(own) == len(addresses), "the texts hold an example and its donor"
    is_example = sample_addresses(own) == addresses[0]
    co_words = example["co_words"].split()
    columns = {name: own[name] for name in ("shard", "row", "height", "width", "spans")} | {
        "co": pa.array([co_words if mine else [] for mine in is_example], pa.list_(pa.string())),
        "donor_row": pa.array([example["donor_row"] if mine else None for mine in is_example]),
        "co_donor_row": pa.nulls(len(own), pa.int32()),
    }
    return pa.table(columns)


def _mask(
    polygons: Sequence[Polygon], size: tuple[int, int], stored: np.ndarray, dilation: float
) -> np.ndarray:
    """Return a mask: white where text is erased from an image of this size, black elsewhere."""
    height, width = stored.shape[:2]
    grown = scaled_length(dilation, height, width)
    mask = mask_of(scaled(polygons, size, (height, width)), height, width, dilation=grown)
    return np.where(mask, np.uint8(255), np.uint8(0))


def _address(row: Row) -> int:
    return sample_address(int(row["shard"]), int(row["row"]))
