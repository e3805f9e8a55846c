"""Find the dimension of a step's embeddings from its settings, without loading the model."""

import json
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from clipaudit.plaindata import Json

UNKNOWN = 0


def dimension_of(settings: Json) -> int:
    """Return the embedding dimension of the model in a step's settings; UNKNOWN if not stated.

    It is read from the user's definition, from a local folder, or for a name from open_clip's file.
    """
    model = settings.get("model") or {}
    architecture = model.get("architecture") or {}
    if architecture.get("definition"):
        return int(architecture["definition"].get("embed_dim", UNKNOWN))
    if architecture.get("open_clip"):
        return _read(_open_clip_configs() / f"{architecture['open_clip']}.json")
    directory = (model.get("encoder") or {}).get("directory")
    return _read(Path(directory) / "open_clip_config.json", "model_cfg") if directory else UNKNOWN


def _open_clip_configs() -> Path:
    """Return the folder of open_clip's model configs; the package itself would import torch."""
    spec = find_spec("open_clip")
    return Path(spec.origin).parent / "model_configs" if spec and spec.origin else Path()


def _read(path: Path, *section: str) -> int:
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads(path.read_text())
        for name in section:
            content = content[name]
        return int(content["embed_dim"])
    return UNKNOWN
