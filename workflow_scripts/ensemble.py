"""Results of models over several random seeds: gaps, and memorized records."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from clipaudit.steps.workflow import Step, run_step

if TYPE_CHECKING:
    from clipaudit.memorization.ensembles import EnsemblePart


def compute(step: Step) -> None:
    """Compare the models' recalls, a part at a time."""
    from clipaudit.memorization.ensemble_gaps import ENSEMBLE_GAPS, ensemble_gaps
    from clipaudit.memorization.ensemble_records import ENSEMBLE_RECORDS, ensemble_records

    sources, neighbors = step.settings["sources"], step.settings["neighbors"]
    gaps = ensemble_gaps(_parts(step), sources, neighbors=neighbors)
    step.write_table("gaps", gaps, ENSEMBLE_GAPS)
    records = ensemble_records(partial(_parts, step), sources, neighbors=neighbors)
    step.write_table("records", records, ENSEMBLE_RECORDS)


def _parts(step: Step) -> "Iterator[EnsemblePart]":
    from clipaudit.memorization.ensembles import EnsemblePart, SeedPart

    recalls = {
        tuple(file.labels[name] for name in ("encoder", "source", "part")): file
        for file in step.labelled("recalls")
    }
    kept = {
        tuple(file.labels[name] for name in ("corpus", "set", "part")): file
        for file in step.labelled("kept")
    }
    for source, part in dict.fromkeys(place[1:] for place in recalls):
        seeds = []
        for models in step.settings["models"]:
            a, b, *baseline = (
                recalls[encoder, source, part].table() for encoder in models["encoders"]
            )
            sets = {
                name: kept[source, manifest, part].table("shard", "row", "kept")
                for name, manifest in models["sets"][source].items()
            }
            seeds.append(SeedPart(a, b, sets, tuple(baseline) or None))
        yield EnsemblePart(source, seeds)


run_step(snakemake, compute)
