"""The names of the memorization audit's sets, models and points, and their definitions.

A *point* of the grid is a way to train: the default one, another size of the training sets, another
value of one setting, or an earlier checkpoint of the default. Each point has two models, one
trained on A and one on B; the recall test uses them as encoders. Each further seed of the models
splits the records again into A, B and hold-out, so no cut recurs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from clipaudit.config.corpora import Corpus
from clipaudit.config.manifests import ALL, DEDUPLICATED, size_label
from clipaudit.config.training import Encoder, Recipe
from clipaudit.memorization.model_names import ModelName, cut_label
from clipaudit.memorization.settings import Memorization, Share, value_label

Family = Literal[
    "default",
    "size",
    "epochs",
    "temperature",
    "logit_scale",
    "weight_decay",
    "token_masking",
    "captions",
    "text_noise",
]

DEFAULT = "default"
_OF_SHARDS = {"shards", "of", "where", "label", "sets", "world", "blurred"}  # a split has its own
TRAINED = ("a", "b")  # the sets that models are trained on


@dataclass(frozen=True)
class Point:
    """One way to train the two models; `value` is what its family varies."""

    name: str
    family: Family
    value: float | str
    recipe: str
    size: Share | None = None  # of the training sets; None: the default size
    epochs: int | None = None  # checkpoint after this many; None: the last
    cut: int = 0  # of the records into sets

    def manifest(self, trained: str) -> str:
        """Return the manifest of one of the training sets, A or B."""
        return self._model(trained).manifest

    def encoder(self, trained: str) -> str:
        """Return the name of the model trained on A or on B."""
        return self._model(trained).encoder

    def _model(self, trained: str) -> ModelName:
        size = None if self.size is None else size_label(self.size)
        return ModelName(self.recipe, trained, size, self.cut, self.epochs)


class SetOfCut(NamedTuple):
    """A set, its size (None: all that was drawn), and its cut of the records."""

    set: str
    size: Share | None
    cut: int


def points(audit: Memorization, recipe: Recipe) -> list[Point]:
    """Return all points of an audit with a recipe, in the grid or not, the default one first.

    `recipe` is the audit's. A value that equals the recipe's own is only the default point.
    """
    base = _recipe_of(audit)
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


def _recipe_of(audit: Memorization) -> str:
    assert audit.recipe is not None, "an audit of targets alone has no points"
    return audit.recipe


def _varied(audit: Memorization, base: str, recipe: Recipe) -> list[Point]:
    """Return the points at which one setting of the recipe `base` has another value."""
    grid = audit.mitigations
    families: dict[Family, Sequence[float]] = {
        "temperature": grid.temperature if recipe.logit_scale == "learned" else [],
        "logit_scale": grid.logit_scale,
        "weight_decay": grid.weight_decay,
        "token_masking": grid.token_masking,
        "captions": grid.captions,
        "text_noise": grid.text_noise,
    }
    return [
        Point(name, family, value, f"{base}.{name}")
        for family, values in families.items()
        for value in values
        if value != own_value(recipe, family)
        for name in [f"{family.replace('_', '-')}-{value_label(value)}"]
    ]


def own_value(recipe: Recipe, family: Family) -> float | str | None:
    """Return a recipe's own value of a family: text is a learned logit scale, None all captions.

    A recipe that always takes the first caption has the value 1.
    """
    if family == "captions" and recipe.caption_choice == "first":
        return 1
    own: float | str | None = getattr(recipe, recipe_setting(family))
    return own


def recipe_setting(family: Family) -> str:
    """Return the setting of a recipe that the points of a family vary."""
    return "max_logit_scale" if family == "temperature" else family


def in_grid(audit: Memorization, every: list[Point]) -> list[Point]:
    """Return the points whose models are trained and tested: the default and the grid's."""
    return [point for point in every if point.name == DEFAULT or audit.asks_for(point.name)]


def seed_recipes(audit: Memorization, recipe: Recipe) -> dict[str, Recipe]:
    """Return the audit's recipe with its own seed and with each further one, by name."""
    base = _recipe_of(audit)
    further = {
        f"{base}.seed-{recipe.seed + more}": recipe.model_copy(update={"seed": recipe.seed + more})
        for more in range(1, audit.seeds)
    }
    return {base: recipe, **further}


def seed_points(audit: Memorization, recipes: Mapping[str, Recipe]) -> list[list[Point]]:
    """Return the points in the grid under each seed, the audit's own seed first.

    Under the other seeds names end in the seed: `token-masking-0.5.seed-3`. Without a recipe there
    are none.
    """
    if audit.recipe is None:
        return []
    own = recipes[audit.recipe]
    asked = in_grid(audit, points(audit, own))
    found = [asked]
    for cut, base in enumerate(list(seed_recipes(audit, own))[1:], start=1):
        suffix = base.removeprefix(audit.recipe)
        found.append(
            [
                replace(
                    point,
                    name=f"{point.name}{suffix}",
                    recipe=base + point.recipe.removeprefix(audit.recipe),
                    cut=cut,
                )
                for point in asked
            ]
        )
    return found


@dataclass(frozen=True)
class PairTest:
    """Compares a model's training pairs, a source's part of `members`, with a hold-out."""

    target: str  # encoder
    reference: str | None  # encoder that saw neither; None: there is none
    members: str  # manifest
    source: str
    holdout: str  # source of the hold-out: the same one if both are drawn by lot
    point: Point | None  # of the models; None: an encoder of `targets`


def pair_tests(audit: Memorization, recipes: Mapping[str, Recipe]) -> list[PairTest]:
    """Return the pair tests of the models of every point in the grid, then of the targets.

    Those under other seeds are in `default_pair_tests`. Each source that has both A and a hold-out
    is tested by itself. Only if none has both, each A is compared with each hold-out of another
    source.
    """
    every = [] if audit.recipe is None else in_grid(audit, points(audit, recipes[audit.recipe]))
    reference = audit.reference or every[0].encoder("b")
    given = [(name, reference, "set-a", None) for name in audit.targets]
    return _pair_tests(audit, [*_models_of(every), *given])


def default_pair_tests(audit: Memorization, recipes: Mapping[str, Recipe]) -> list[list[PairTest]]:
    """Return the pair tests of the default point's two models under each seed."""
    return [_pair_tests(audit, _models_of(asked[:1])) for asked in seed_points(audit, recipes)]


_Tested = tuple[str, str, str, Point | None]  # target, reference, members, point


def _models_of(every: Sequence[Point]) -> list[_Tested]:
    return [
        (point.encoder(target), point.encoder(other), point.manifest(target), point)
        for point in every
        for target, other in (TRAINED, TRAINED[::-1])
    ]


def _pair_tests(audit: Memorization, models: Sequence[_Tested]) -> list[PairTest]:
    both = [(name, name) for name in audit.trained_on if name in audit.held_out]
    compared = both or [(name, other) for name in audit.trained_on for other in audit.held_out]
    return [
        PairTest(target, other, members, source, holdout, point)
        for target, other, members, point in models
        for source, holdout in compared
    ]


@dataclass(frozen=True)
class OneModelTest:
    """Compares what the model of a pair test recalls with what captions reveal, on its records."""

    of: PairTest
    public: str
    captions: str  # encoder of captions


def one_model_tests(
    audit: Memorization,
    recipes: Mapping[str, Recipe],
    corpora: Mapping[str, Corpus],
    encoders: Mapping[str, Encoder],
) -> list[OneModelTest]:
    """Return the one-model tests of the default point's model of A, and of the targets.

    They look objects up in the first public set that has captions; without one there are none.
    Those under other seeds are in `default_one_model_tests`.
    """
    return _one_model_tests(audit, pair_tests(audit, recipes), corpora, encoders)


def default_one_model_tests(
    audit: Memorization,
    recipes: Mapping[str, Recipe],
    corpora: Mapping[str, Corpus],
    encoders: Mapping[str, Encoder],
) -> list[list[OneModelTest]]:
    """Return the one-model tests of the default point's model of A under each seed."""
    return [
        _one_model_tests(audit, tests, corpora, encoders)
        for tests in default_pair_tests(audit, recipes)
    ]


def _one_model_tests(
    audit: Memorization,
    tests: Sequence[PairTest],
    corpora: Mapping[str, Corpus],
    encoders: Mapping[str, Encoder],
) -> list[OneModelTest]:
    public = next((name for name in audit.publics if corpora[name].captions != "none"), None)
    if public is None:
        return []
    text = audit.text_encoder or audit.encoder
    if text is not None and encoders[text].plugin is not None:
        text = None
    return [
        OneModelTest(test, public, text or test.target)
        for test in tests
        if test.point is None
        or (test.point.family == "default" and test.target == test.point.encoder("a"))
    ]


def derived_recipes(audit: Memorization, recipes: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """Return the recipes of further seeds, and of points that train unlike the default."""
    if audit.recipe is None:
        return {}
    seeds = seed_recipes(audit, recipes[audit.recipe])
    found = {name: recipe for name, recipe in seeds.items() if name != audit.recipe}
    for base, recipe in seeds.items():
        for point in _varied(audit, base, recipe):
            changes: dict[str, object] = {recipe_setting(point.family): point.value}
            if point.family == "token_masking":
                changes["caption_choice"] = "random" if point.value else "first"
            if point.family == "captions":
                changes["caption_choice"] = "random"
            found[point.recipe] = recipe.model_copy(update=changes)
    return found


def derived_encoders(audit: Memorization, recipes: Mapping[str, Recipe]) -> dict[str, Encoder]:
    """Return the two models of every point in the grid, as encoders."""
    return {
        point.encoder(trained): Encoder.model_validate(
            {"model": f"{point.recipe}/{point.manifest(trained)}", "epoch": point.epochs}
        )
        for asked in seed_points(audit, recipes)
        for point in asked
        for trained in TRAINED
    }


def derived_corpora(audit: Memorization, corpora: dict[str, Corpus]) -> dict[str, Corpus]:
    """Return the corpora of drawn samples: each source's drawn, public and attacked ones.

    A source with several sizes has attacked ones for each: see `records_corpus`.
    """
    found = {}
    for name, source in audit.sources.items():
        kinds = ["drawn"]
        kinds += ["public"] if source.public is not None else []
        kinds += ["records"] if source.train is not None or source.holdout is not None else []
        origin = corpora[name].model_dump(exclude=_OF_SHARDS)
        for kind in kinds:
            found[f"{name}.{kind}"] = Corpus.model_validate({**origin, "of": name, "sets": kind})
        for label in smaller_sizes(audit, name):
            given = {**origin, "of": name, "sets": "records"}
            found[f"{name}.records-{label}"] = Corpus.model_validate(given)
    return found


def smaller_sizes(audit: Memorization, source: str) -> dict[str, Share]:
    """Return the sizes of a source's A and B except the largest, by their label in names."""
    given = audit.sources[source]
    largest = given.drawn().get("a")
    sizes = [given.train, *given.sizes]
    return {size_label(size): size for size in sizes if size is not None and size != largest}


def records_corpus(audit: Memorization, source: str, size: Share | None) -> str:
    """Return the corpus of a source's records at a point of this `size`, None for the default.

    `<source>.records` at the largest size, `<source>.records-<size>` at a smaller one.
    """
    given = audit.sources[source]
    own = size if size in given.sizes else given.train
    label = size_label(own) if own is not None else ""
    return f"{source}.records" + (f"-{label}" if label in smaller_sizes(audit, source) else "")


def set_manifests(audit: Memorization, recipes: Mapping[str, Recipe]) -> dict[str, dict[str, str]]:
    """Return the manifests of A and B at every point, with each source's part.

    Without a recipe there is only A. Sources other than the one with `sizes` give the same part at
    every size.
    """
    if audit.recipe is None:
        return {"set-a": dict.fromkeys(audit.trained_on, "set-a")}
    recipe = recipes[audit.recipe]
    every = [
        replace(point, cut=cut) for cut in range(audit.seeds) for point in points(audit, recipe)
    ]
    return {
        point.manifest(trained): {
            name: point.manifest(trained)
            if point.size in source.sizes
            else cut_label(f"set-{trained}", point.cut)
            for name, source in audit.sources.items()
            if source.train is not None
        }
        for point in every
        for trained in TRAINED
    }


def set_sizes(audit: Memorization, source: str) -> dict[str, SetOfCut]:
    """Return the manifests of one source's sets, each with its set, size and cut.

    Public sets are only in the first cut.
    """
    given = audit.sources[source]
    found = {f"set-{name}": SetOfCut(name, None, 0) for name in audit.drawn(source)}
    for trained in TRAINED if given.train is not None else ():
        if given.sizes:
            found[f"set-{trained}"] = SetOfCut(trained, given.train, 0)
        for size in given.sizes:
            found[f"set-{trained}-{size_label(size)}"] = SetOfCut(trained, size, 0)
    again = {name: each for name, each in found.items() if each.set in TRAINED}
    if given.holdout is not None:
        sized = {size_label(size): size for size in given.sizes if size != given.train}
        again["set-holdout"] = SetOfCut("holdout", given.train if given.sizes else None, 0)
        again |= {
            f"set-holdout-{label}": SetOfCut("holdout", size, 0) for label, size in sized.items()
        }
    for cut in range(1, audit.seeds):
        found |= {cut_label(name, cut): each._replace(cut=cut) for name, each in again.items()}
    return found


def holdout_manifest(audit: Memorization, source: str, point: Point) -> str:
    """Return the manifest of a source's hold-out at a point.

    The first cut has one hold-out. A further cut draws one from the records of each size.
    """
    given = audit.sources[source]
    is_sized = point.cut and point.size in given.sizes and point.size != given.train
    label = f"-{size_label(point.size)}" if is_sized and point.size is not None else ""
    return cut_label(f"set-holdout{label}", point.cut)


def start(audit: Memorization, source: str) -> str:
    """Return the manifest that a source's sets are drawn from."""
    return DEDUPLICATED if audit.sources[source].duplicates == "semantic" else ALL
