"""The galleries of the memorization audit: its most memorized samples, one for each public set.

The paper's Figure 1 for the first public set, `memorization_fig1_<public>`, and its Figures 11 and
12 for the others, all as `memorization_fig11_<public>`. They show the attack on A at the default
point, with the first number of neighbours.
"""

from clipaudit.config.settings import Settings
from clipaudit.memorization.settings import Memorization
from clipaudit.reports.gallery_options import ShownSet
from clipaudit.reports.specification import Gallery, gallery_of


def memorization_galleries(run: Settings) -> dict[str, Gallery]:
    """Return the galleries that the settings ask for, by name, in the order of the public sets."""
    audit = run.section(Memorization)
    if audit is None or audit.recipe is None:
        return {}
    return {
        f"memorization_fig{11 if later else 1}_{public}": _gallery(run, audit, public)
        for later, public in enumerate(audit.publics)
    }


def _chosen_by_success(audit: Memorization) -> str:
    """Return the caption's warning about records chosen by the target's success."""
    if not audit.held_out:
        return "They are chosen by this difference, and without a hold-out luck may explain it."
    return (
        "\N{LEFT DOUBLE QUOTATION MARK}So much more\N{RIGHT DOUBLE QUOTATION MARK} gives the share "
        "of records with at least so large a difference of recalls, in A and in the hold-out, "
        "which no model was trained on. If the two shares are close, an example may show luck as "
        "well as memorization."
    )


def _gallery(run: Settings, audit: Memorization, public: str) -> Gallery:
    corpora = list(dict.fromkeys([*audit.trained_on, public]))
    kinds = {"labels": "examples", "neighbors": "example_neighbors", "boxes": "example_boxes"}
    return gallery_of(
        run,
        corpora,
        options=ShownSet(run.title(public), public),
        title=f"The most memorized records, with objects looked up in {run.title(public)}",
        inputs={name: [f"{folder}/{public}.json"] for name, folder in kinds.items()},
        caption=(
            f"The {audit.examples} most memorized records of A. For these, the model trained "
            "on A finds the most additional objects over the one trained on B, using only the "
            f"caption, among the objects of the {audit.neighbors[0]} images of "
            f"{run.title(public)} nearest to it. Objects of the record's own image are marked "
            "as true, others as false; the table of this name counts the images that show each. "
            f"{_chosen_by_success(audit)}"
        ),
    )
