"""transformers, kept from open_clip until it is needed: importing it takes a second of every job.

open_clip imports it wherever it is installed, though only Hugging Face text towers and tokenizers
use it there; our own use of it is the detector.
"""

import importlib
import sys

_NAME = "transformers"
_OPEN_CLIP_USER = "open_clip.hf_model"


def hide_transformers() -> None:
    """Let open_clip be imported as if transformers were not installed; harmless when too late."""
    sys.modules.setdefault(_NAME, None)  # type: ignore[arg-type]  # None: an import is refused


def show_transformers() -> None:
    """Undo `hide_transformers`, also for an open_clip that was imported meanwhile."""
    if _NAME in sys.modules and sys.modules[_NAME] is None:
        del sys.modules[_NAME]
        if _OPEN_CLIP_USER in sys.modules:
            importlib.reload(sys.modules[_OPEN_CLIP_USER])
