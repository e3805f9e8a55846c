"""Pieces: independent parts of an action's outputs, found by their own keys.

In tables of several test sets, the rows of one test set are a piece. A piece is not stored again:
its key leads to the actions whose outputs hold it.

    store/pieces/ab/cdef.../<action>   an empty file: the outputs of this action hold the piece
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from clipaudit.plaindata import Json
from clipaudit.store.actions import ActionCache, ActionOutput, Ingredients
from clipaudit.store.store import Store, replace_text


def piece_key(ingredients: Ingredients, made_of: Json) -> str:
    """Return the key of a piece from its action's step, code and environment, and its own recipe.

    `made_of` is everything else that determines the piece. Other inputs and settings of the action
    do not enter the key.
    """
    recipe = {
        "step": ingredients.step,
        "code": ingredients.code,
        "environment": ingredients.environment,
        "piece": made_of,
    }
    text = json.dumps(recipe, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Pieces:
    """The pieces of one store."""

    store: Store

    def record(self, keys: Iterable[str], action: str) -> None:
        """Remember that the outputs of a recorded action hold these pieces."""
        for key in keys:
            replace_text(self._folder(key) / action, "")

    def find(self, keys: Iterable[str]) -> list[tuple[set[str], Mapping[str, ActionOutput]]]:
        """Return, for each action used, the pieces taken from it and its outputs, all intact.

        Each piece is taken from one action, or from none if no such action holds it. Of several
        actions, use the one with the most of these pieces, then the lowest key.
        """
        holders = {key: self._holders(key) for key in keys}
        held = Counter(action for actions in holders.values() for action in actions)
        outputs_of = cache(ActionCache(self.store).find)
        taken: dict[str, set[str]] = {}
        for key, actions in holders.items():
            for action in sorted(actions, key=lambda action: (-held[action], action)):
                if outputs_of(action) is not None:
                    taken.setdefault(action, set()).add(key)
                    break
        return [(pieces, outputs_of(action) or {}) for action, pieces in taken.items()]

    def _holders(self, key: str) -> list[str]:
        with suppress(FileNotFoundError):
            names = (path.name for path in self._folder(key).iterdir())
            return [name for name in names if not name.startswith(".")]
        return []

    def _folder(self, key: str) -> Path:
        return self.store.root / "pieces" / key[:2] / key[2:]
