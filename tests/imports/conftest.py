import numpy as np
import pytest
from tinyclip import picture

PLACES = ("dogs/b.v2.png", "cats/a.png", "cats/old/c.PNG")


@pytest.fixture
def folder(tmp_path):
    """Write three images in folders below `photos`."""
    rng = np.random.default_rng(0)
    for place in PLACES:
        path = tmp_path / "photos" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(rng))
    return tmp_path / "photos"
