"""The names of the memorization audit's sets, models and points, and what each is made of.

A *point* of the grid is a way to train: the default one, another size of the training sets, another
value of one setting, or an earlier checkpoint of the default. At each point there are two models,
one trained on A and one on B; the recall test asks them for records as encoders.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from clipaudit.config.corpora import Corpus
from clipaudit.config.manifests import ALL, DEDUPLICATED, size_label
from clipaudit.config.training import Encoder, Recipe
from clipaudit.memorization.settings import Memorization, Share

Family = Literal[
    "default", "size", "epochs", "temperature", "logit_scale", "weight_decay", "token_masking"
]

DEFAULT = "default"
_OF_SHARDS = {"shards", "of", "where", "label", "sets", "world", "blurred"}  # a split has others
TRAINED = ("a", "b")  # the sets that models are trained on


@dataclass(frozen=True)
class Point:
    """One way to train the two models; `value` is what its family varies."""

    name: str
    family: Family
    value: float | str
    recipe: str
    size: Share | None = None  # of the training sets; None: the default one
    epochs: int | None = None  # checkpoint after so many; None: the last

    def manifest(self, trained: str) -> str:
        """Return the manifest of one of the training sets, A or B."""
        return f"set-{trained}" if self.size is None else f"set-{trained}-{size_label(self.size)}"

    def encoder(self, trained: str) -> str:
        """Return the name of the model trained on A or on B."""
        name = f"{self.recipe}.{self.manifest(trained)}"
        return name if self.epochs is None else f"{name}.epoch-{self.epochs}"


def points(audit: Memorization, recipe: Recipe, *, name: str | None = None) -> list[Point]:
    """Return all points, in the grid or not, the default one first.

    `recipe` is the audit's, or another of this `name`. A value that is the recipe's own is the
    default point and no other.
    """
    base = name or audit.recipe
    default = Point(DEFAULT, "default", "", base)
    sized = [
        Point(f"size-{size_label(size)}", "size", size_label(size), base, size=size)
        for source in audit.trained_on
        for size in audit.sources[source].sizes
        if size != audit.sources[source].train
    ]
    early = [
        Point(f"epochs-{count}", "epochs", count, base, epochs=count)
        for count in audit.mitigations.epochs
        if count != recipe.epochs
    ]
    return [default, *sized, *early, *_varied(audit, base, recipe)]


def _varied(audit: Memorization, base: str, recipe: Recipe) -> list[Point]:
    """Return the points at which one setting of the recipe `base` has another value."""
    grid = audit.mitigations
    families: dict[Family, list[float]] = {
        "temperature": grid.temperature if recipe.logit_scale == "learned" else [],
        "logit_scale": grid.logit_scale,
        "weight_decay": grid.weight_decay,
        "token_masking": grid.token_masking,
    }
    return [
        Point(name, family, value, f"{base}.{name}")
        for family, values in families.items()
        for value in values
        if value != getattr(recipe, recipe_setting(family))
        for name in [f"{family.replace('_', '-')}-{value:g}"]
    ]


def recipe_setting(family: Family) -> str:
    """Return the setting of a recipe that the points of a family vary."""
    return "max_logit_scale" if family == "temperature" else family


def in_grid(audit: Memorization, every: list[Point]) -> list[Point]:
    """Return the points whose models are trained and tested: the default and the grid's."""
    return [point for point in every if point.name == DEFAULT or audit.asks_for(point.name)]


def seed_points(audit: Memorization, recipes: Mapping[str, Recipe]) -> dict[str, list[Point]]:
    """Return the points in the grid by seed, the audit's own recipe first.

    The names of the others' end in their recipe: `token-masking-0.5.other-recipe`.
    """
    found = {audit.recipe: in_grid(audit, points(audit, recipes[audit.recipe]))}
    for seed in audit.seeds:
        asked = in_grid(audit, points(audit, recipes[seed], name=seed))
        found[seed] = [replace(point, name=f"{point.name}.{seed}") for point in asked]
    return found


def derived_recipes(audit: Memorization, recipes: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """Return the recipes of the points that train otherwise than the audit's own recipes."""
    found = {}
    for base in [audit.recipe, *audit.seeds]:
        for point in _varied(audit, base, recipes[base]):
            changes: dict[str, object] = {recipe_setting(point.family): point.value}
            if point.family == "token_masking":
                changes["caption_choice"] = "random" if point.value else "first"
            found[point.recipe] = recipes[base].model_copy(update=changes)
    return found


def derived_encoders(audit: Memorization, recipes: Mapping[str, Recipe]) -> dict[str, Encoder]:
    """Return the two models of every point in the grid, as encoders."""
    return {
        point.encoder(trained): Encoder.model_validate(
            {"model": f"{point.recipe}/{point.manifest(trained)}", "epoch": point.epochs}
        )
        for asked in seed_points(audit, recipes).values()
        for point in asked
        for trained in TRAINED
    }


def derived_corpora(audit: Memorization, corpora: dict[str, Corpus]) -> dict[str, Corpus]:
    """Return the corpora of drawn samples: each source's drawn, public and attacked ones."""
    found = {}
    for name, source in audit.sources.items():
        kinds = ["drawn"]
        kinds += ["public"] if source.public is not None else []
        kinds += ["records"] if source.train is not None or source.holdout is not None else []
        for kind in kinds:
            origin = corpora[name].model_dump(exclude=_OF_SHARDS)
            found[f"{name}.{kind}"] = Corpus.model_validate({**origin, "of": name, "sets": kind})
    return found


def set_manifests(audit: Memorization, recipe: Recipe) -> dict[str, dict[str, str]]:
    """Return the manifests of A and B at every point: the sources' parts of them.

    Sources other than the one with `sizes` give the same part at every size.
    """
    return {
        point.manifest(trained): {
            name: point.manifest(trained) if point.size in source.sizes else f"set-{trained}"
            for name, source in audit.sources.items()
            if source.train is not None
        }
        for point in points(audit, recipe)
        for trained in TRAINED
    }


def set_sizes(audit: Memorization, source: str) -> dict[str, tuple[str, Share | None]]:
    """Return the manifests of one source's sets: which set each is, and how much of it.

    None: all that was drawn; else the first of them, as many as this size.
    """
    given = audit.sources[source]
    found: dict[str, tuple[str, Share | None]]
    found = {f"set-{name}": (name, None) for name in given.drawn()}
    for trained in TRAINED if given.train is not None else ():
        if given.sizes:
            found[f"set-{trained}"] = (trained, given.train)
        for size in given.sizes:
            found[f"set-{trained}-{size_label(size)}"] = (trained, size)
    return found


def start(audit: Memorization, source: str) -> str:
    """Return the manifest that a source's sets are drawn from."""
    return DEDUPLICATED if audit.sources[source].duplicates == "semantic" else ALL
