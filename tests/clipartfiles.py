"""The Open Clip Art Library's own files, for tests that need real images."""

import os
from pathlib import Path

import pytest

from clipaudit.demo.clipart.packages import fetch
from clipaudit.errors import InputError

FOLDER = Path(__file__).parents[1] / "data/clipart"  # where `make clipart` also puts them


def real_drawings():
    """Return the folder with `png/` and `svg/`, downloaded on the first call; skip if that fails.

    DEBS names the package files if there is no apt-get, as for `make clipart`.
    """
    try:
        return fetch(FOLDER, [Path(name) for name in os.environ.get("DEBS", "").split()])
    except InputError as error:
        pytest.skip(f"no clip art: {error}")


def real_shards():
    """Return the folder of the shards that `make clipart` writes; skip if it does not exist."""
    if not (FOLDER / "clipart.json").exists():
        pytest.skip("no shards of clip art: `make clipart` writes them")
    return FOLDER
