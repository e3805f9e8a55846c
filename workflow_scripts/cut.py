"""The cut in an order of samples that removes the requested number."""

from collections.abc import Iterable
from typing import Any

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Find the cut."""
    from clipaudit.corpora.manifests import count_kept
    from clipaudit.similarity.cuts import CUT, find_cut
    from clipaudit.similarity.orders import Order

    settings = step.settings
    order = step.settings_as(Order, "order")
    ends = [(shards[0], shards[-1]) for shards in settings["shards"]]

    def parts() -> Iterable[tuple[Any, Any]]:
        bases = step.tables("base", columns=["shard", "row", "kept"])
        if step.files("similarities"):
            return zip(bases, step.tables("similarities", columns=order.columns), strict=True)
        return zip(bases, (step.between("duplicates", "shard", *end) for end in ends), strict=True)

    like = count_kept(step.tables("like", columns=["kept"])) if step.files("like") else None
    cut = find_cut(settings["name"], order, parts, **settings["size"], like=like)
    step.write_table("cut", cut, CUT)


run_step(snakemake, compute)
