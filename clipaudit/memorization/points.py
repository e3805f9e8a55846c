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

Family = Literal["default", "size", "epochs", "logit_scale", "weight_decay", "token_masking"]

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
        "logit_scale": grid.logit_scale,
        "weight_decay": grid.weight_decay,
        "token_masking": grid.token_masking,
    }
    return [
        Point(name, family, value, f"{base}.{name}")
        for family, values in families.items()
        for value in values
        if value != getattr(recipe, family)
        for name in [f"{family.replace('_', '-')}-{value:g}"]
    ]


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


@dataclass(frozen=True)
class PairTest:
    """A model whose training pairs, a source's part of `members`, are set against a hold-out."""

    target: str  # encoder
    reference: str | None  # encoder that saw neither; None: there is none
    members: str  # manifest
    source: str
    holdout: str  # source of the hold-out: the same one where both are drawn by lot
    point: Point | None  # whose models they are; None: an encoder of `targets`


def pair_tests(audit: Memorization, recipes: Mapping[str, Recipe]) -> list[PairTest]:
    """Return the pair tests of the models of every point in the grid, then of the targets.

    Points under other seeds are not tested. Each source that has both A and a hold-out is tested by
    itself. Only where none has both is each A set against each hold-out of another source.
    """
    both = [(name, name) for name in audit.trained_on if name in audit.held_out]
    compared = both or [(name, other) for name in audit.trained_on for other in audit.held_out]
    every = in_grid(audit, points(audit, recipes[audit.recipe]))
    models = [
        (point.encoder(target), point.encoder(other), point.manifest(target), point)
        for point in every
        for target, other in (TRAINED, TRAINED[::-1])
    ]
    default = every[0]
    reference = audit.reference or default.encoder("b")
    given = [(name, reference, default.manifest("a"), None) for name in audit.targets]
    return [
        PairTest(target, other, members, source, holdout, point)
        for target, other, members, point in [*models, *given]
        for source, holdout in compared
    ]


@dataclass(frozen=True)
class OneModelTest:
    """A pair test's model, members and hold-out, tested by what captions tell of objects."""

    of: PairTest
    public: str
    captions: str  # encoder of captions


def one_model_tests(
    audit: Memorization,
    recipes: Mapping[str, Recipe],
    corpora: Mapping[str, Corpus],
    encoders: Mapping[str, Encoder],
) -> list[OneModelTest]:
    """Return the one-model tests: of the default point's model of A, and of the targets.

    They look objects up in the first public set that has captions; without one there are none.
    """
    public = next((name for name in audit.publics if corpora[name].captions != "none"), None)
    if public is None:
        return []
    text = audit.text_encoder or audit.encoder
    if text is not None and encoders[text].plugin is not None:
        text = None
    return [
        OneModelTest(test, public, text or test.target)
        for test in pair_tests(audit, recipes)
        if test.point is None
        or (test.point.name == DEFAULT and test.target == test.point.encoder("a"))
    ]


def derived_recipes(audit: Memorization, recipes: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """Return the recipes of the points that train otherwise than the audit's own recipes."""
    found = {}
    for base in [audit.recipe, *audit.seeds]:
        for point in _varied(audit, base, recipes[base]):
            changes: dict[str, object] = {point.family: point.value}
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
