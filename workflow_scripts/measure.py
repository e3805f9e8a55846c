"""The metrics of a point: for the population, and for its most exposed records."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clipaudit.steps.workflow import Step, run_step

if TYPE_CHECKING:
    from clipaudit.memorization.measures import AttackedPart


def compute(step: Step) -> None:
    """Attack A, B and the hold-out, a part at a time."""
    from clipaudit.memorization import measures

    found = measures.measure(
        _parts(step),
        neighbors=step.settings["neighbors"],
        shards=step.settings["shards"],
        seed=step.settings["seed"],
    )
    step.write_table("gaps", found.gaps, measures.GAPS_BY_K)
    step.write_table("survival", found.survival, measures.SURVIVAL_BY_K)
    step.write_table("sample_gaps", found.sample_gaps, measures.SAMPLE_GAPS_BY_K)


def _parts(step: Step) -> "Iterator[AttackedPart]":
    from clipaudit.memorization.measures import AttackedPart

    names = {"recalls_a", "recalls_b", "kept_a", "kept_b", "kept_holdout"}
    files = {
        name: {
            (file.labels.get("source") or file.labels["corpus"], file.labels["part"]): file
            for file in step.labelled(name)
        }
        for name in names
    }
    for file in step.labelled("samples"):
        place = file.labels["source"], file.labels["part"]
        kept = {
            each: files[f"kept_{each}"][place].table("shard", "row", "kept")
            for each in ("a", "b", "holdout")
            if place in files[f"kept_{each}"]
        }
        recalls = {each: files[f"recalls_{each}"][place].table() for each in ("a", "b")}
        yield AttackedPart(place[0], recalls, kept, file.table("shard", "row", "uid"))


run_step(snakemake, compute)
