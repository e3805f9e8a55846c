"""Settings of the similarity audit."""

from pydantic import Field, model_validator

from clipaudit.config.base import Name, Settings


class Evidence(Settings):
    """The claim that needs several seeds: pruning to a test set's gap costs accuracy there.

    Each recipe trains two arms of equal size, the pruned set and a random one; the effect on a
    test set is the difference of their accuracies, and its interval is over the recipes.
    """

    recipes: list[Name] = Field(
        min_length=2, description="recipes that differ in nothing but the seed"
    )
    pruning: Name = Field(description="the test set that the first arm is pruned to")
    reference: Name = Field(description="the test set that effects are compared with")
    seed: int = Field(0, ge=0, description="of the random arm's draw")


class Similarity(Settings):
    """Is benchmark accuracy only train-test similarity? (Mayilvahanan et al., ICLR 2024.)"""

    encoder: Name = Field(description="a name under `encoders` (paper: ViT-B-16-plus-240)")
    recipe: Name = Field(description="a name under `recipes`, for every model of the tables")
    large: Name = Field(description="the corpus that is pruned (paper: LAION-200M)")
    small: Name = Field(description="the corpus that sets the gaps (paper: ImageNet-Train)")
    test_sets: list[Name] = Field(min_length=1, description="the test sets, in the tables' order")
    neighbors: int = Field(10, ge=1, description="nearest train samples kept for each test sample")
    with_small: list[bool] = Field(
        [True, False],
        min_length=1,
        description="train on the pruned large set with the small one added (Table 1), without it "
        "(Table 4), or both",
    )
    pretrained: list[Name] = Field(
        [], description="encoders evaluated as rows of Tables 1 and 4 (paper: OpenAI, LAION-400M)"
    )
    near_duplicate_distance: float = Field(
        0.05, gt=0, description="Table 2: a near duplicate is nearer than this (1 - similarity)"
    )
    near_gap: float = Field(
        0.9, gt=0, description="Table 6: normalized similarity above this is near the gap"
    )

    evidence: Evidence | None = Field(None, description="the table of several seeds; off if absent")

    @model_validator(mode="after")
    def _different(self) -> "Similarity":
        names = [self.large, self.small, *self.test_sets]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)}: named twice among large, small and test_sets")
        return self

    def prunings(self) -> list[str]:
        """Return the names of the pruned sets: one a test set, and all of them combined."""
        return [*self.test_sets, "combined"]

    def bases(self) -> list[str]:
        """Return the names of the unpruned manifests, that with the small set first."""
        added = [f"{self.large}-and-{self.small}"] if True in self.with_small else []
        alone = [self.large] if False in self.with_small else []
        return added + alone


def randomly(base: str, pruning: str) -> str:
    """Return the name of the random manifest of the size of a pruned one.

    >>> randomly("large", "sketch")
    'large.random-as-sketch'
    """
    return f"{base}.random-as-{pruning}"


def pruned(base: str, pruning: str) -> str:
    """Return the name of a pruned manifest.

    >>> pruned("large", "sketch")
    'large.sketch-pruned'
    """
    return f"{base}.{pruning}-pruned"
