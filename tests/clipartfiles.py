"""The Open Clip Art Library's own files, for tests that want real pictures."""

import os
from pathlib import Path

import pytest

from clipaudit.demo.clipart.packages import fetch
from clipaudit.errors import InputError

FOLDER = Path(__file__).parents[1] / "data/clipart"  # where `make clipart` has them, too


def real_drawings():
    """Return the folder with `png/` and `svg/`, fetched at the first call; skip where that fails.

    DEBS names the packages' files where there is no apt-get, as for `make clipart`.
    """
    try:
        return fetch(FOLDER, [Path(name) for name in os.environ.get("DEBS", "").split()])
    except InputError as error:
        pytest.skip(f"no clip art: {error}")


def real_shards():
    """Return the folder of the shards that `make clipart` writes; skip where it did not."""
    if not (FOLDER / "clipart.json").exists():
        pytest.skip("no shards of clip art: `make clipart` writes them")
    return FOLDER
