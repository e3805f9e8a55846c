"""Section of the memorization audit."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from clipaudit.config.base import Distinct, Name, Section
from clipaudit.config.deduplication import Deduplication
from clipaudit.config.given import GivenRows
from clipaudit.config.manifests import size_label
from clipaudit.memorization.fixed import MOST_NEIGHBORS

OWN_ANNOTATORS = ("transformers", "dataset", "given")

# settings of models that the audit trains
_OF_TRAININGS = ("seeds", "mitigations", "grid", "utility", "selections", "baselines")

# how many samples: a count, or a fraction of the groups of duplicates; 1.0 stands for all
Share = Annotated[int, Field(ge=1)] | Annotated[float, Field(gt=0, le=1)]


def value_label(value: float) -> str:
    """Return a value of a mitigation as a part of a point's name.

    >>> value_label(0.30), value_label(200)
    ('0.3', '200')
    """
    return str(value) if isinstance(value, int) else f"{value:g}"


def _refuse_repeats(setting: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        raise ValueError(f"{setting}: {', '.join(names)}; name each once")


class Source(Section):
    """A corpus that sets are drawn from: A and B to train on, a public set, a hold-out.

    Give either counts or fractions. Duplicates count as one sample.
    """

    train: Share | None = Field(None, description="samples of each of A and B (paper: 10M)")
    sizes: list[Share] = Field(
        [], description="further sizes of A and B (paper: 1M and 50M beside 10M; Figures 2, 3)"
    )
    public: Share | None = Field(
        None, description="samples of the public set; a corpus of its own may give 1.0, all"
    )
    holdout: Share | None = Field(
        None, description="samples in neither A nor B: the null control (ours)"
    )
    duplicates: Literal["semantic", "caption", "none"] = Field(
        "caption",
        description="what counts as one sample: SemDeDup duplicates (paper: filtered LAION), all "
        "samples of one caption (Shutterstock), or only equal samples",
    )

    def drawn(self) -> dict[str, int | float]:
        """Return the size drawn for each set, the largest if several, in the sets' order."""
        train = max([self.train, *self.sizes]) if self.train is not None else None
        asked = {"a": train, "b": train, "public": self.public, "holdout": self.holdout}
        return {name: share for name, share in asked.items() if share is not None}

    @model_validator(mode="after")
    def _is_possible(self) -> "Source":
        drawn = self.drawn()
        if not drawn:
            raise ValueError("give at least one of train, public, holdout: nothing is drawn")
        if self.sizes and self.train is None:
            raise ValueError("sizes belong to `train`: give `train` too")
        _refuse_repeats("sizes", [size_label(size) for size in self.sizes])
        given = [*drawn.values(), *self.sizes, *([self.train] if self.train else [])]
        if len({type(share) for share in given}) > 1:
            raise ValueError("give all sizes as counts, or all as fractions such as 0.25 or 1.0")
        return self


class GivenObjects(GivenRows):
    """Files with the objects of a source: Parquet with one row per image, or COCO JSON."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".json")


class Objects(Section):
    """Objects in images: labels that the shards state, or that a detector finds."""

    annotator: Name = Field(
        "transformers",
        description="a detection checkpoint; `dataset`: the objects of the samples' JSON, as in "
        "COCO; `given`: those of files; or a plug-in by its entry point in "
        "`clipaudit.annotators` (docs/plugins.md)",
    )
    options: dict[str, Any] = Field(
        {}, description="options of a plug-in; the contents of files named in them enter the keys"
    )
    names: str | None = Field(
        None,
        description="dataset, given: text file of label names, with the line number from 0 as the "
        "label, or `coco`; needed if the JSON states only names",
    )
    given: dict[Name, GivenObjects] = Field({}, description="given: the files, for every source")
    checkpoint: str = Field(
        "facebook/deformable-detr-detic",
        description="transformers: a name in the hub cache, or a folder (paper: Detic)",
    )
    threshold: float = Field(
        0.5, ge=0, lt=1, description="boxes need a higher score (Shutterstock: 0.3); not `dataset`"
    )
    shorter_side: int = Field(
        256, ge=96, description="transformers: pixels of the shorter side (published code)"
    )
    batch_size: int = Field(16, ge=1, description="images per forward pass; not for `dataset`")

    @property
    def plugin(self) -> str | None:
        """The annotator, if it is a plug-in."""
        return None if self.annotator in OWN_ANNOTATORS else self.annotator

    @model_validator(mode="after")
    def _has_plugin(self) -> "Objects":
        if self.options and self.plugin is None:
            raise ValueError(f"options: {self.annotator} takes none; name a plug-in or remove them")
        if bool(self.given) != (self.annotator == "given"):
            raise ValueError("`annotator: given` and the files by source, `given`, go together")
        return self


class Mitigations(Section):
    """The grid of Section 5: values of one setting each, with or without the recipe's own."""

    epochs: list[Annotated[int, Field(ge=1)]] = Field(
        [], description="epochs after which to test checkpoints of the recipe's own training run"
    )
    temperature: list[Annotated[float, Field(ge=1)]] = Field(
        [25.0, 100.0, 200.0],
        description="the paper's term for the maximum of the learned logit scale: values of the "
        "recipe's `max_logit_scale`; no points for a recipe that fixes the scale",
    )
    logit_scale: list[Annotated[float, Field(gt=0)]] = Field(
        [], description="fixed logit scales: another reading of the paper's temperature (ours)"
    )
    weight_decay: list[Annotated[float, Field(ge=0)]] = Field(
        [0.03, 0.1, 0.3], description="AdamW's"
    )
    token_masking: list[Annotated[float, Field(ge=0, lt=1)]] = Field(
        [0.0, 0.3, 0.5],
        description="masking ratios; above 0 records with several captions show a random one",
    )
    captions: list[Annotated[int, Field(ge=1)]] = Field(
        [],
        description="number of a record's captions from which each epoch draws one, if there are "
        "several (not in the paper), such as 1 and 5",
    )
    text_noise: list[Annotated[float, Field(ge=0)]] = Field(
        [],
        description="standard deviations of noise on the unit text embeddings in training (not in "
        "the paper), such as 0.1",
    )

    @model_validator(mode="after")
    def _names_each_once(self) -> "Mitigations":
        for setting in type(self).model_fields:
            _refuse_repeats(setting, [value_label(value) for value in getattr(self, setting)])
        return self


class Selection(Section):
    """A set of images with candidate captions, one of them right (ARO)."""

    corpus: Name = Field(description="its JSON has `captions`, `right` and perhaps `kind`")
    title: str | None = Field(None, description="its title in figures")


class Memorization(Section):
    """Does a model remember objects of its training images? (Jayaraman et al., NeurIPS 2024.)"""

    sources: dict[Name, Source] = Field(
        min_length=1, description="by corpus (paper: filtered LAION, COCO, ImageNet)"
    )
    seed: int = Field(0, ge=0, lt=2**63, description="seed of the draw of the sets")
    deduplication: Deduplication | None = Field(
        None, description="SemDeDup of the sources with `duplicates: semantic`"
    )
    encoder: Name | None = Field(
        None, description="finds near duplicates among the sets, and semantic ones before that"
    )
    near_duplicate_distance: float = Field(
        0.05, gt=0, description="a near duplicate is nearer than this (1 - similarity)"
    )
    verify_overlaps: bool = Field(
        False,
        description="search all pairs of the sets again after removing overlaps (twice the work), "
        "so that memorization_overlaps counts those left",
    )
    objects: Objects = Field(
        Objects.model_validate({}), description="which objects are in the images"
    )
    recipe: Name | None = Field(
        None,
        description="how the models of A and B are trained: the default point; when absent none "
        "is trained, and only `targets` are tested, on A and the hold-out (no B is drawn)",
    )
    neighbors: list[Annotated[int, Field(ge=1, le=MOST_NEIGHBORS)]] = Field(
        [10, 100],
        min_length=1,
        description="public images nearest to a caption (README and default of the published code)",
    )
    top: int = Field(
        10,
        ge=1,
        description="number of objects, those that the most neighbours show, that count as "
        "predicted for single records (paper: 10, its code: all; Figures 4 and 8)",
    )
    mitigations: Mitigations = Field(Mitigations.model_validate({}), description="Figures 5 and 9")
    grid: Distinct[str] | None = Field(
        None,
        description="the points to train and test besides the default one, such as "
        "token-masking-0.3; captions name the others; all when absent",
    )
    utility: Distinct[Name] = Field(
        [],
        description="labelled test sets: zero-shot accuracy (Fig. 2); tables and figures show "
        "only the first",
    )
    selections: dict[Name, Selection] = Field({}, description="ARO: caption selection (Figure 7)")
    baselines: Distinct[Name] = Field([], description="encoders beside the models in Figure 7")
    examples: int = Field(5, ge=1, description="number of most memorized samples to show")
    seeds: int = Field(
        1,
        ge=1,
        le=1_000,
        description="number of training seeds for each point of the grid, the recipe's own and "
        "the next ones; each has its own split into A, B and hold-out, and a table shows what "
        "holds over all",
    )
    targets: Distinct[Name] = Field(
        [],
        description="encoders to test without training: they were trained on A and never saw the "
        "hold-out",
    )
    text_encoder: Name | None = Field(
        None,
        description="encoder of the captions whose images predict objects, for the one-model "
        "test; when absent `encoder` or, if that reads no text, each target itself",
    )
    reference: Name | None = Field(
        None,
        description="encoder that saw neither set, for the pair test of the targets; when absent "
        "the model of B, so needed without `recipe`",
    )

    augmented: int = Field(
        0,
        ge=0,
        description="versions of each caption, each with one word dropped, for comparison with a "
        "pair's cosine in the pair tests (ours); 4 cost four more embeddings of the captions; "
        "0: none",
    )
    augmented_pictures: int = Field(
        0,
        ge=0,
        description="versions of each image, cropped and every second one mirrored, for comparison "
        "with a pair's cosine in the pair tests (ours); 4 read the records' shards once more and "
        "cost four more embeddings of their images; 0: none",
    )

    @property
    def publics(self) -> list[str]:
        """The sources that have a public set, in their order."""
        return [name for name, source in self.sources.items() if source.public is not None]

    @property
    def trained_on(self) -> list[str]:
        """The sources of A and B, in their order."""
        return [name for name, source in self.sources.items() if source.train is not None]

    @property
    def held_out(self) -> list[str]:
        """The sources that have a hold-out, in their order."""
        return [name for name, source in self.sources.items() if source.holdout is not None]

    @model_validator(mode="after")
    def _is_possible(self) -> "Memorization":
        self._tests_something()
        for name in self.sources:
            drawn = self.drawn(name)
            whole = sum(Fraction(str(size)) for size in drawn.values())  # as they are written
            if isinstance(next(iter(drawn.values())), float) and whole > 1:
                raise ValueError(
                    f"sources.{name}: the fractions of {', '.join(drawn)} add up to "
                    f"{float(whole):g}; at most 1"
                )
        sized = [name for name, source in self.sources.items() if source.sizes]
        if len(sized) > 1:
            raise ValueError(f"sources: {', '.join(sized)} have `sizes`; give them to one")
        if self.reference in self.targets:
            raise ValueError(
                f"targets: {', '.join(self.targets)}, with reference {self.reference}: a target "
                "cannot be its own reference; name another encoder as `reference`"
            )
        if self.targets and not self.held_out:
            raise ValueError("targets: one of the sources needs `holdout`, which they never saw")
        if sorted(set(self.neighbors)) != self.neighbors:
            raise ValueError(f"neighbors: {self.neighbors} must rise, each number once")
        self._looks_up_some_of_many()
        for name, source in self.sources.items():
            if source.duplicates == "semantic" and not (self.deduplication and self.encoder):
                raise ValueError(
                    f"sources.{name}: `duplicates: semantic` needs the section `deduplication` "
                    "and an `encoder`"
                )
        return self

    def _looks_up_some_of_many(self) -> None:
        """Refuse to look up all public images: both models then predict the same objects."""
        most = max(self.neighbors)
        for name in self.publics if "neighbors" in self.model_fields_set else []:
            public = self.sources[name].public
            if isinstance(public, int) and most >= public:
                raise ValueError(
                    f"neighbors: {most:,}, but sources.{name} has a public set of {public:,}. Any "
                    "two models would predict the same objects, those of all its images; ask for "
                    "fewer neighbors or a larger public set"
                )

    def _tests_something(self) -> None:
        if self.recipe is not None:
            if not self.trained_on or not self.publics:
                raise ValueError("sources: one needs `train` and one `public`; the test needs both")
            return
        if not self.targets:
            raise ValueError(
                "targets: none, and there is no `recipe`, so no model is tested; name encoders "
                "under `targets`, or a `recipe` to train two models"
            )
        if self.reference is None:
            raise ValueError(
                "reference: needed without `recipe`; name an encoder that saw neither what the "
                "targets were trained on nor the hold-out"
            )
        if not self.trained_on:
            raise ValueError("sources: one needs `train`: records that the targets trained on")
        for name in _OF_TRAININGS:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name}: needs `recipe`: nothing is trained without one")
        for name, source in self.sources.items():
            if source.sizes:
                raise ValueError(f"sources.{name}.sizes: need `recipe`, whose models have them")

    def drawn(self, source: str) -> dict[str, int | float]:
        """Return the size drawn from a source for each set; without a recipe, none for B."""
        drawn = self.sources[source].drawn()
        return {name: drawn[name] for name in drawn if name != "b" or self.recipe is not None}

    def asks_for(self, point: str) -> bool:
        """Return whether a point of the grid is trained and tested."""
        return self.grid is None or point in self.grid
