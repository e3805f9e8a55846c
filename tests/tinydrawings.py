"""Drawings that even a random encoder tells apart: fields of colour of many kinds."""

import io

import numpy as np
from PIL import Image


def drawing(rng, side=40):
    """A sample with a picture of few large fields, of its own brightness and contrast."""
    fields = rng.integers(0, 256, (rng.integers(1, 5), rng.integers(1, 5), 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(fields).resize((side, side), Image.Resampling.NEAREST).save(out, "PNG")
    return {"png": out.getvalue(), "txt": b"a cat"}
