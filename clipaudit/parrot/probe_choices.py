"""Compare images of texts with every text of a vocabulary, block by block.

The choices are the distinct texts that the model sees: grams with the same tokens are one choice,
so that none of them is wrong or right by chance. An image's own choice is that of the gram drawn in
it.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float32, Float64, Int64

TOLERANCE = 1e-6  # cosines this near are equal: float32 embeddings are no more precise
BLOCK = 8192  # texts at once: memory, never results beyond the last bits of float64


class Comparison(NamedTuple):
    """The comparison of each image with its own text and with the other choices."""

    matched: Float64[np.ndarray, " n"]  # cosine with its own text
    mismatched: Float64[np.ndarray, " n"]  # mean cosine with the others; NaN if there are none
    rank: Int64[np.ndarray, " n"]  # other choices that are more similar
    right: Float64[np.ndarray, " n"]  # expected share of right picks: 0, 1, or 1/k among k equals


def number_choices(tokens: Iterable[torch.Tensor]) -> tuple[Int64[np.ndarray, " n"], list[int]]:
    """Return the choice of each text, and the place of the first text of each choice.

    `tokens` are batches of rows of token numbers, one row per text. Choices are numbered from 0 in
    the order of their first texts. Without texts there are no choices.

    >>> number_choices([torch.tensor([[7, 0], [8, 0]]), torch.tensor([[7, 0]])])
    (array([0, 1, 0]), [0, 1])
    """
    numbers: dict[bytes, int] = {}
    firsts: list[int] = []
    choices: list[int] = []
    for batch in tokens:
        for row in batch.int().cpu().numpy():  # int32, to keep half the bytes
            choice = numbers.setdefault(row.tobytes(), len(numbers))
            if choice == len(firsts):
                firsts.append(len(choices))
            choices.append(choice)
    return np.array(choices, dtype=np.int64), firsts


def compare_choices(
    images: Float32[np.ndarray, "n d"],
    own: Int64[np.ndarray, " n"] | Sequence[int],
    texts: Float32[torch.Tensor, "choices d"],
    *,
    block: int = BLOCK,
) -> Comparison:
    """Compare unit rows `images` with unit rows `texts`; `own[i]` is the text of image i.

    Products and sums are float64, on the device of `texts`; at most n x `block` cosines are held.
    Cosines within TOLERANCE of the own one count as equal to it. `mismatched` is the same for every
    `block` to 12 digits, the rest exactly, unless a cosine is at the edge of the tolerance. A
    single choice is always right. Without images the arrays are empty.

    >>> eye = np.eye(3, dtype=np.float32)
    >>> found = compare_choices(eye[:2], [0, 0], torch.tensor(eye))
    >>> found.matched.tolist(), found.mismatched.tolist()
    ([1.0, 0.0], [0.0, 0.5])
    >>> found.rank.tolist(), found.right.tolist()
    ([0, 1], [1.0, 0.0])
    """
    pictures = torch.tensor(images, dtype=torch.float64, device=texts.device)
    at = torch.as_tensor(np.asarray(own, dtype=np.int64), device=texts.device)
    matched = (pictures * texts[at].double()).sum(dim=1)  # (n,)
    total = torch.zeros_like(matched)
    higher, not_lower = (torch.zeros_like(at) for _ in range(2))
    for start in range(0, len(texts), block):
        cosines = pictures @ texts[start : start + block].double().T  # (n, block)
        total += cosines.sum(dim=1)
        higher += (cosines > matched[:, None] + TOLERANCE).sum(dim=1)
        not_lower += (cosines >= matched[:, None] - TOLERANCE).sum(dim=1)
    others = len(texts) - 1
    mismatched = (total - matched) / others if others > 0 else torch.full_like(total, torch.nan)
    right = torch.where(higher == 0, 1 / not_lower.double(), 0.0)  # not_lower counts the own one
    return Comparison(*(each.cpu().numpy() for each in (matched, mismatched, higher, right)))
