"""Drawings that even a random encoder distinguishes: colour fields of many kinds."""

import io

import numpy as np
from PIL import Image


def drawing(rng, side=40):
    """Return a sample with an image of few large fields, with its own brightness and contrast."""
    fields = rng.integers(0, 256, (rng.integers(1, 5), rng.integers(1, 5), 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(fields).resize((side, side), Image.Resampling.NEAREST).save(out, "PNG")
    return {"png": out.getvalue(), "txt": b"a cat"}
