"""Names the training runs of the similarity audit's models: its recipe with each seed."""

from collections.abc import Mapping

from clipaudit.config.training import Recipe
from clipaudit.similarity.settings import Similarity


def trainings(audit: Similarity, recipes: Mapping[str, Recipe], recipe: str) -> list[str]:
    """Return the recipes that train the models of a table row, the named one first.

    The audit's own is trained with its seed and the next ones, by derived recipes such as
    `base.seed-1`; any other, such as `pretrained`, is trained once.
    """
    if recipe != audit.recipe:
        return [recipe]
    first = recipes[recipe].seed
    return [recipe, *(f"{recipe}.seed-{first + more}" for more in range(1, audit.seeds))]


def derived_recipes(audit: Similarity, recipes: Mapping[str, Recipe]) -> dict[str, Recipe]:
    """Return the audit's recipe with each further seed, by name."""
    if audit.recipe is None:
        return {}
    recipe = recipes[audit.recipe]
    _, *others = trainings(audit, recipes, audit.recipe)
    return {
        name: recipe.model_copy(update={"seed": recipe.seed + more})
        for more, name in enumerate(others, start=1)
    }
