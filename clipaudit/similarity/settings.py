"""Defines the settings of the similarity audit."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from clipaudit.config.base import Distinct, Name, Section
from clipaudit.config.deduplication import Deduplication
from clipaudit.config.manifests import DEDUPLICATED, Size, Sizes, size_label


def kept_label(size: Size) -> str:
    """Return a kept size as a part of a name.

    >>> kept_label(0.25), kept_label(50_000_000)
    ('kept-25pct', 'kept-50000000')
    """
    return f"kept-{size_label(size)}"


class Evidence(Section):
    """The claims that need several seeds: the cost of pruning on the test set that it targets.

    Each of `seeds` trains two arms of equal size, the set pruned to a test set's gap and a random
    one; the effect on a test set is the difference of their accuracies. With `removed`, each also
    trains the near-, rand- and far-pruned sets of one size. Intervals are over seeds and images.
    """

    pruning: Name = Field(description="the test set that the first arm is pruned to")
    reference: Name = Field(description="the test set that effects are compared with")
    seed: int = Field(
        0,
        ge=0,
        lt=2**63,
        description="random seed of the first random sets; those of further seeds follow",
    )
    removed: Size | None = Field(
        None, description="near-, rand- and far-pruning by this many samples; none when absent"
    )

    @model_validator(mode="after")
    def _compares_two_sets(self) -> "Evidence":
        if self.pruning == self.reference:
            raise ValueError(
                f"reference: {self.reference} is also `pruning`; name another test set"
            )
        return self


_MARGIN_STEPS = 2**40  # per unit: coarse enough that adding a margin rarely rounds


def _rounded(margin: float) -> float:
    return round(margin * _MARGIN_STEPS) / _MARGIN_STEPS


Margin = Annotated[float, Field(ge=-0.25, le=0.25), AfterValidator(_rounded)]


def margin_label(margin: float) -> str:
    """Return a margin as a part of a name.

    >>> margin_label(-0.02), margin_label(0.005)
    ('minus-0-02', 'plus-0-005')
    """
    sign = "minus" if margin < 0 else "plus"
    return f"{sign}-{abs(margin):g}".replace(".", "-")


class DoseResponse(Section):
    """Accuracy by how many samples pruning removes, to a test set's gaps shifted by margins.

    Each margin, and the gap itself, trains two models: one on the pruned large set, and one on a
    random set of the same size.
    """

    test_set: Name = Field(description="the test set that all sets are pruned to")
    margins: list[Margin] = Field(
        min_length=1,
        description="similarities that are added to every gap: one below 0 removes more samples "
        "than the gap itself, one above 0 fewer",
    )

    @model_validator(mode="after")
    def _told_apart(self) -> "DoseResponse":
        if 0 in self.margins:
            raise ValueError("margins: 0 is the gap itself, which is always included; remove it")
        labels = list(map(margin_label, self.margins))
        if len(set(labels)) < len(labels):
            raise ValueError("margins: two are equal to six digits; remove one")
        return self


_PAPERS_SIZES: list[Size] = [50_000_000, 100_000_000, 150_000_000]


class NearFar(Section):
    """Near-, far- and rand-pruning by nearest-neighbour similarity (Sec. 4.2).

    Sizes are those of `removed` and of `kept`. The paper's figures count removed samples, its
    published notebook kept ones: for 199.8 million samples these are not the same sets.
    """

    queries: Distinct[Name] = Field(
        min_length=1, description="test sets that samples are near or far to (paper: Sketch, Val)"
    )
    removed: Sizes | None = Field(
        None,
        description="samples to remove, as counts or as fractions; 50, 100 and 150 million when "
        "`kept` is also absent",
    )
    kept: Sizes | None = Field(
        None,
        description="samples to keep, as counts or as fractions (the published notebook's: 50, 100 "
        "and 150 million)",
    )
    seed: int = Field(0, ge=0, lt=2**63, description="random seed of the order")

    @model_validator(mode="after")
    def _sized(self) -> "NearFar":
        if not self.all_removed and not self.kept:
            raise ValueError("no sizes; give `removed` or `kept`, or leave both out")
        return self

    @property
    def all_removed(self) -> list[Size]:
        """Return the removed sizes: those given, or the paper's if none are given."""
        default = _PAPERS_SIZES if self.kept is None else []
        return default if self.removed is None else self.removed

    @property
    def labels(self) -> list[str]:
        """Return each size as in the names of prunings: the removed ones, then the kept."""
        return [*map(size_label, self.all_removed), *map(kept_label, self.kept or [])]


class CoreSet(Section):
    """The core set: far-pruning to all test sets together (Table 3)."""

    kept: Size = Field(
        100_000_000, description="samples to keep: a count, or a fraction of the deduplicated set"
    )
    of_whole: bool = Field(
        True, description="also keep the same number of the large set before deduplication"
    )
    semdedup: bool = Field(
        True,
        description="also keep as many by deduplication alone, at whatever threshold that takes",
    )


class Supervised(Section):
    """Classifiers trained on the small set's near-, far- and rand-pruned sets (Figures 9, 10)."""

    recipe: Name = Field(description="a name under `supervised_recipes` (paper: ResNet-18)")
    removed: Sizes = Field(
        [0.25, 0.5, 0.75], min_length=1, description="samples of the small set to remove"
    )


class Robustness(Section):
    """Effective robustness (Fang et al., 2022): accuracy beyond that of models of the small set.

    The line of expected accuracies goes through models trained on the small set alone: the points
    given here, and models of this run. Models of sets pruned towards a test set are left out by
    default: that pruning changes the accuracies that the line relates.
    """

    reference: Name = Field(description="the test set of the horizontal axis (paper: ImageNet-Val)")
    points: list[dict[Name, Annotated[float, Field(gt=0, lt=1)]]] = Field(
        [], description="accuracies of one model each, by test set"
    )
    models: Distinct[str] | None = Field(
        None,
        description="models of this run on the line: names under `classifiers`, and manifests of "
        "the small set that supervised models are trained on; when absent, all classifiers, the "
        "whole small set and its rand-pruned sets",
    )

    @model_validator(mode="after")
    def _lie_on_the_line(self) -> "Robustness":
        for point in self.points:
            if self.reference not in point or len(point) < 2:
                raise ValueError(
                    f"points: {point} needs an accuracy on {self.reference}, the reference, and "
                    "one on another test set; add what is missing"
                )
        return self


class Pair(Section):
    """Another small set and test set to compare with the large set (App. D)."""

    figure: int = Field(11, description="number of the figure (paper: CelebA 11, Waterbirds 12)")
    small: Name = Field(description="a corpus, usually a split, to compare the large set with")
    test: Name = Field(description="a labelled corpus, usually the split that `small` lacks")

    @model_validator(mode="after")
    def _compares_two_sets(self) -> "Pair":
        if self.small == self.test:
            raise ValueError(f"test: {self.test} is also `small`; name another corpus")
        return self


class Galleries(Section):
    """Images of nearest neighbours (Figures 1, 2, 15 to 26)."""

    queries: int = Field(4, ge=1, description="random test images of a gallery")
    columns: int = Field(6, ge=1, description="neighbours of each (paper: 6)")
    seed: int = Field(0, ge=0, lt=2**63, description="random seed of the choice")


class Similarity(Section):
    """Is benchmark accuracy only train-test similarity? (Mayilvahanan et al., ICLR 2024.)"""

    encoder: Name = Field(description="a name under `encoders` (paper: ViT-B-16-plus-240)")
    other_encoders: Distinct[Name] = Field(
        [],
        description="encoders to repeat the audit with: Table 5 says how far each agrees with "
        "`encoder`, Figure 13 shows the similarities (paper: ViT-L-14)",
    )
    compare_prunings: bool = Field(
        True,
        description="Table 5 also says which samples each of `other_encoders` prunes, so each "
        "embeds the large set; without it, each embeds only the small set and the test sets",
    )
    recipe: Name | None = Field(
        None,
        description="a name under `recipes`, for every model of the tables; nothing is trained "
        "when absent",
    )
    seeds: int = Field(
        1,
        ge=1,
        le=1_000,
        description="training runs of each model of Tables 1 and 4, with the recipe's seed, the "
        "next one, and so on: means, with intervals over seeds and images (paper: 1). This "
        "multiplies the training runs; all else shows the first seed",
    )
    random_arm: bool | None = Field(
        None,
        description="add a random set of equal size to each gap-pruned set of Tables 1 and 4, as "
        "its control, drawn anew for each seed: one more training run for each; when absent, only "
        "with several seeds",
    )
    large: Name = Field(description="the corpus that is pruned (paper: LAION-400M)")
    small: Name | None = Field(
        None,
        description="the corpus that sets the gaps (paper: ImageNet-Train); nothing is pruned to "
        "gaps when absent",
    )
    test_sets: Distinct[Name] = Field(
        min_length=1, description="the test sets, in the tables' order"
    )
    main_sets: Distinct[Name] | None = Field(
        None,
        min_length=1,
        description="test sets of Figures 1, 3 (left) and 4 (paper: Sketch, R, Val); Figure 6 has "
        "the others; the first three when absent",
    )
    control_sets: Distinct[Name] = Field(
        [], description="test sets unlike the others (Figure 8; paper: MNIST, SVHN)"
    )
    neighbors: int = Field(10, ge=1, description="nearest train samples kept for each test sample")
    with_small: Distinct[bool] = Field(
        [True, False],
        min_length=1,
        description="train on the pruned large set with the small one added (Table 1), without it "
        "(Table 4), or both",
    )
    pretrained: Distinct[Name] = Field(
        [], description="encoders evaluated as rows of Tables 1, 3 and 4 (paper: OpenAI, ...)"
    )
    large_model: Name | None = Field(
        None,
        description="an encoder that was trained on the whole large set (paper: OpenCLIP's of "
        "LAION-400M): a row like those of `pretrained`, and the model of Figures 6, 11 and 12, "
        "instead of one trained here",
    )
    classifiers: Distinct[Name] = Field(
        [], description="names under `classifiers`: rows of Table 4 (paper: ResNet-101)"
    )
    grid: Distinct[str] | None = Field(
        None,
        description="the manifests whose models the report shows, besides those of encoders and "
        "evidence; captions name the others; all when absent",
    )
    near_duplicate_distance: Annotated[float, Field(gt=0)] | Literal["calibrated"] = Field(
        0.05,
        description="Table 2: a near duplicate is nearer than this (1 - similarity); `calibrated`: "
        "within the threshold chosen by the audit that calibrates the encoder",
    )
    near_gap: float = Field(
        0.9, gt=0, description="Table 6: normalized similarity above this is near the gap"
    )
    deduplication: Deduplication | None = Field(None, description="SemDeDup; off when absent")
    base: Name | None = Field(
        None,
        description="what all prunings of `large` start from: `all`, `deduplicated`, or a pruning "
        "that another audit makes, such as `without-copies`; when absent, `deduplicated` with the "
        "section `deduplication`, else `all`",
    )
    near_far: NearFar | None = Field(None, description="Figures 3, 7, 8; off when absent")
    core_set: CoreSet | None = Field(None, description="Table 3; off when absent")
    supervised: Supervised | None = Field(None, description="Figures 9, 10; off when absent")
    robustness: Robustness | None = Field(None, description="the Discussion's; off when absent")
    pairs: dict[Name, Pair] = Field({}, description="further pairs of sets (App. D)")
    galleries: Galleries | None = Field(None, description="off when absent")
    dose_response: DoseResponse | None = Field(
        None,
        description="the figure of accuracy by the pruning margin: two training runs for each "
        "margin, and two for the gap; off when absent",
    )
    evidence: Evidence | None = Field(None, description="the table of several seeds; off if absent")

    @model_validator(mode="after")
    def _consistent(self) -> "Similarity":
        small = [] if self.small is None else [self.small]
        names = [self.large, *small, *self.test_sets, *self.control_sets]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(
                f"{', '.join(twice)}: named twice among large, small, test_sets and control_sets"
            )
        encoders = [self.encoder, *self.other_encoders]
        repeated = sorted({name for name in encoders if encoders.count(name) > 1})
        if repeated:
            raise ValueError(
                f"other_encoders: {', '.join(repeated)} named twice among encoder and "
                "other_encoders; name each encoder once"
            )
        self._one_random_order()
        for name in ("evidence", "supervised", "other_encoders", "classifiers", "dose_response"):
            if self.small is None and getattr(self, name):
                raise ValueError(f"{name}: needs `small`, the corpus that it compares with")
        self._seeds_have_trainings()
        if self.supervised is not None and self.near_far is None:
            raise ValueError("supervised: needs near_far, whose queries it prunes to")
        if self.core_set is not None and self.core_set.semdedup and self.deduplication is None:
            raise ValueError("core_set.semdedup: needs the section `deduplication`")
        if self.base == DEDUPLICATED and self.deduplication is None:
            raise ValueError("base: deduplicated, which needs the section `deduplication`")
        return self

    def _seeds_have_trainings(self) -> None:
        if self.random_arm and self.small is None:
            raise ValueError("random_arm: needs `small`: nothing is pruned to gaps without it")
        needing = {
            "seeds": self.seeds > 1,
            "random_arm": self.random_arm,
            "dose_response": self.dose_response is not None,
        }
        for name, is_asked in needing.items():
            if is_asked and self.recipe is None:
                raise ValueError(f"{name}: needs `recipe`: nothing is trained without one")
        if self.evidence is not None and self.seeds == 1:
            raise ValueError("evidence: needs `seeds` of 2 or more, which it compares")

    def _one_random_order(self) -> None:
        """Raise ValueError for two seeds of rand-pruned sets, as those of one size share a name."""
        if self.evidence is None or self.evidence.removed is None or self.near_far is None:
            return
        mine, theirs = self.evidence.seed, self.near_far.seed
        if mine != theirs:
            raise ValueError(
                f"evidence.seed is {mine}, near_far.seed is {theirs}: rand-pruned sets are drawn "
                "with one seed; give both the same"
            )

    @property
    def given_distance(self) -> float | None:
        """Return the distance of near duplicates; None if a calibration chooses it."""
        distance = self.near_duplicate_distance
        return None if distance == "calibrated" else distance

    @property
    def has_random_arm(self) -> bool:
        """Return whether gap-pruned sets have random controls of equal size."""
        return self.seeds > 1 if self.random_arm is None else self.random_arm

    @property
    def random_seed(self) -> int:
        """Return the seed of all draws of random sets of the large corpus."""
        drawn = self.evidence or self.near_far
        return drawn.seed if drawn is not None else 0

    @property
    def shown_first(self) -> list[str]:
        """Return the test sets of the main figures; the others are Figure 6's."""
        return self.test_sets[:3] if self.main_sets is None else self.main_sets

    @property
    def released(self) -> list[str]:
        """Return the encoders that are rows of the tables: models that were not trained here."""
        large = [] if self.large_model is None else [self.large_model]
        return list(dict.fromkeys([*self.pretrained, *large]))

    def asks_for(self, manifest: str) -> bool:
        """Return whether the report shows a model of this manifest."""
        return self.grid is None or manifest in self.grid
