"""Randomizes text: drops a share of a caption's tokens, newly drawn each epoch.

Jayaraman et al., NeurIPS 2024 (https://arxiv.org/abs/2402.02103) mask caption tokens; CLIP's
vocabulary has no mask token and their code is unpublished. Here each BPE token is dropped with
probability `share`, independently, after tokenization; start and end of text are kept. As there, an
image's several captions are not masked: one of them is drawn instead (`data.Maker`).
"""

import random

from jaxtyping import Int64
from torch import Tensor

Tokens = Int64[Tensor, " context"]


def mask_tokens(tokens: Tokens, *, share: float, end: int, seed: int) -> Tokens:
    """Return the tokens without a random `share` of those between start and end of text.

    `end` is the id of the end-of-text token; tokens after it stay 0. The draw depends only on
    `seed` and on the number of tokens.

    >>> import torch
    >>> mask_tokens(torch.tensor([8, 1, 2, 3, 4, 9, 0]), share=0.5, end=9, seed=1).tolist()
    [8, 2, 3, 9, 0, 0, 0]
    """
    generator = random.Random(seed)
    last = int((tokens == end).nonzero()[0])
    kept = [at for at in range(1, last) if generator.random() >= share]
    masked = tokens.new_zeros(tokens.shape)
    masked[: len(kept) + 2] = tokens[[0, *kept, last]]
    return masked
