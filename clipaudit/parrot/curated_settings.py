"""Settings of the sets of equal size that models are trained on, and of the evidence."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from clipaudit.config.base import Distinct, Name, Section
from clipaudit.config.given import GivenRows

Threshold = Annotated[float, Field(ge=-2, le=2)]


class Debiased(Section):
    """The subset without text and duplicates, of high score and aesthetics (Sec. 8)."""

    score: Threshold = Field(0.3, description="a sample scores more (paper)")
    aesthetics: float = Field(
        4.5, description="and its aesthetics score is more (paper's README; the paper has 0.45)"
    )
    aesthetics_field: str | None = Field(
        None, description="field of the samples' JSON with that score; no condition when absent"
    )
    recipes: Distinct[Name] | None = Field(
        None,
        min_length=1,
        description="other recipes for this set (paper's README: ViT-B with batches of 32k); "
        "those of `curations` when absent",
    )


class GivenScores(GivenRows):
    """Files with a score of each sample."""

    score: str = Field("score", min_length=1, description="the column of the scores, numbers")


class Curations(Section):
    """The training sets of equal size (Sec. 6), and the samples held out of them."""

    corpus: Name = Field(
        description="source corpus of all sets; for another, extend these settings in a file with "
        "other `results`: the store is shared"
    )
    sizes: Distinct[Annotated[int, Field(ge=1)]] = Field(
        [3_000_000, 12_000_000], min_length=1, description="samples of a set (paper)"
    )
    heldout: int = Field(
        1_000_000, ge=1, description="samples held out without text, and as many parroting (paper)"
    )
    parrot_rsc: Threshold = Field(
        0.2, description="held-out parroting samples have a higher RSC than this (paper)"
    )
    rates: Distinct[Annotated[float, Field(gt=0, le=1)]] = Field(
        [0.3, 0.5, 0.8, 1.0],
        description="sets of at least this rate, in addition to rate 0 (paper)",
    )
    rsa: Distinct[Threshold] = Field(
        [0.0, 0.1, 0.2, 0.3], description="sets of at least this RSA, and one below the first"
    )
    textless_rsa: bool = Field(
        False,
        description="add the sets of at least an RSA of 0 or less with samples without text "
        "counted as RSA 0: the paper's Table 4 does not say which its set is",
    )
    rsc: Distinct[Threshold] = Field(
        [0.0, 0.1, 0.2, 0.3], description="the same for the RSC (paper)"
    )
    seed: int = Field(0, ge=0, lt=2**31, description="seed of the order of drawn samples")
    filters: Distinct[Literal["score", "masked", "stated", "basic", "text"]] = Field(
        [],
        description="sets that filters choose, of the same sizes: the samples with the highest "
        "caption score, the highest score with all text erased (T-MARS), or the highest number in "
        "`filter_field` or `filter_scores` (a size of 30 % of the corpus is its top 30 %); the "
        "samples that DataComp's basic filter keeps, of any language; or samples whose caption "
        "names one of `filter_words` (ours)",
    )
    filter_field: str | None = Field(
        None,
        description="field of the samples' JSON with the score for `stated`, such as that of a "
        "data filtering network",
    )
    filter_scores: GivenScores | None = Field(
        None, description="files with that score, instead of `filter_field`"
    )
    filter_words: str | None = Field(
        None,
        description="text file in UTF-8 for `text`, with one word or phrase per line; "
        "DataComp's text-based filter looks for words whose first meaning is in ImageNet-21k",
    )
    debiased: Debiased | None = Field(None, description="the subset of Sec. 8; none when absent")
    recipes: Distinct[Name] = Field(
        min_length=1, description="how models are trained on each set (paper: RN50 and ViT-B)"
    )
    recipes_of_size: dict[int, Annotated[Distinct[Name], Field(min_length=1)]] = Field(
        {},
        description="other recipes for the sets of a size, such as with larger batches (paper: "
        "4,096 for 3M, 8,192 for 12M); sizes that are not listed use `recipes`",
    )
    published_models: dict[Name, Literal["RN50", "ViT-B"]] = Field(
        {},
        description="the paper's model that a recipe trains, whose numbers are shown beside; for a "
        "recipe that is not listed, the one named like its architecture",
    )
    grid: Distinct[str] | None = Field(
        None,
        description="the models to train, `recipe/set`, such as words/cotr-0.3-3000000; "
        "captions name the others; all when absent",
    )
    controls: Distinct[Literal["erased", "swapped"]] = Field(
        [],
        description="add copies of the sets with captions that parrot (CoTR above 0), with the "
        "text in their images erased or their captions swapped, for each of their models (ours)",
    )
    repack: Literal["auto", "always", "never"] = Field(
        "auto",
        description="write the samples of a set as its own shards before training; auto: if "
        "a corpus of over 100 shards gives a set fewer than 1,000 samples per shard, a tenth of "
        "img2dataset's (ours)",
    )

    @model_validator(mode="after")
    def _names_its_recipes(self) -> "Curations":
        for recipe in self.published_models:
            if recipe not in self.all_recipes:
                named = ", ".join(self.all_recipes)
                raise ValueError(f"published_models: {recipe} is not among recipes ({named})")
        self._has_what_filters_take()
        for size in self.recipes_of_size:
            if size not in self.sizes:
                sizes = ", ".join(map(str, self.sizes))
                raise ValueError(f"recipes_of_size: {size} is not among sizes ({sizes})")
        return self

    def _has_what_filters_take(self) -> None:
        scores = [name for name in ("filter_field", "filter_scores") if getattr(self, name)]
        if "stated" in self.filters and len(scores) != 1:
            raise ValueError(
                f"filters: stated needs one source of scores, but {len(scores)} are named; name "
                "the field of the samples' JSON as filter_field, or files as filter_scores"
            )
        if "text" in self.filters and self.filter_words is None:
            raise ValueError(
                "filters: text looks for words in captions; name a file with one word or phrase "
                "per line as filter_words"
            )

    @property
    def all_recipes(self) -> list[str]:
        """Every recipe that some set is trained by, each once."""
        others = [name for names in self.recipes_of_size.values() for name in names]
        return list(dict.fromkeys([*self.recipes, *others, *self.recipes_for(None)]))

    def recipes_for(self, size: int | None) -> list[str]:
        """Return the recipes for the sets of a size; None means the debiased subset."""
        if size is None:
            return (self.debiased and self.debiased.recipes) or self.recipes
        return self.recipes_of_size.get(size, self.recipes)


class Evidence(Section):
    """Evidence over seeds: a set full of parrot captions against one without text."""

    recipes: Distinct[Name] = Field(
        min_length=2, description="recipes that differ only in their random seed"
    )
    parrot: str = Field(
        description="the set of the first arm, such as cotr-0.8-3000000; its controls are arms too"
    )
    clean: str = Field(description="the set of the second arm, such as without-text-3000000")

    @model_validator(mode="after")
    def _compares_two_sets(self) -> "Evidence":
        if self.parrot == self.clean:
            raise ValueError(f"clean: {self.clean} is also `parrot`; name another set")
        return self
