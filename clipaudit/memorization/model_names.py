"""Compose the names of the models of A and B and of their training sets, and read them back."""

import re
from typing import NamedTuple

_NAME = re.compile(
    r"(?P<recipe>.+)\.set-(?P<trained>[ab])(?:-(?P<size>(?!cut-)[^.]+?))?(?:-cut-(?P<cut>\d+))?"
    r"(?:\.epoch-(?P<epochs>\d+))?"
)


def cut_label(manifest: str, cut: int) -> str:
    """Return the name of a set's manifest under a cut; the first cut is not part of the name."""
    return f"{manifest}-cut-{cut}" if cut else manifest


class ModelName(NamedTuple):
    """The parts of the name of a model that is trained on A or B.

    >>> ModelName.read("base.seed-1.set-a-50pct-cut-1.epoch-8")
    ModelName(recipe='base.seed-1', trained='a', size='50pct', cut=1, epochs=8)
    """

    recipe: str
    trained: str  # a or b
    size: str | None  # of the training set, as `size_label` has it; None: the default size
    cut: int
    epochs: int | None  # None: the last checkpoint

    @classmethod
    def read(cls, encoder: str) -> "ModelName | None":
        """Return the parts of an encoder's name; None for one that is no model of A or B."""
        found = _NAME.fullmatch(encoder)
        if found is None:
            return None
        epochs = found["epochs"]
        return cls(
            found["recipe"],
            found["trained"],
            found["size"],
            int(found["cut"] or 0),
            None if epochs is None else int(epochs),
        )

    @property
    def manifest(self) -> str:
        """The manifest that the model trains on."""
        sized = "" if self.size is None else f"-{self.size}"
        return cut_label(f"set-{self.trained}{sized}", self.cut)

    @property
    def encoder(self) -> str:
        """The whole name."""
        name = f"{self.recipe}.{self.manifest}"
        return name if self.epochs is None else f"{name}.epoch-{self.epochs}"
