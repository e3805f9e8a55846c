"""The metrics of a point: of the population, and of its most exposed records."""

from typing import TYPE_CHECKING

from clipaudit.steps.workflow import Step, run_step

if TYPE_CHECKING:
    import pyarrow as pa


def compute(step: Step) -> None:
    """Attack A, B and the hold-out."""
    from clipaudit.memorization import measures

    def joined(name: str, *columns: str, label: str = "source") -> "pa.Table":
        tables = ((file.labels[label], file.table(*columns)) for file in step.labelled(name))
        return measures.in_one_corpus(tables, step.settings["shards"])

    sets = [name for name in ("a", "b", "holdout") if step.files(f"kept_{name}")]
    found = measures.measure(
        {name: joined(f"recalls_{name}") for name in ("a", "b")},
        {name: joined(f"kept_{name}", "shard", "row", "kept", label="corpus") for name in sets},
        joined("samples", "shard", "row", "uid"),
        neighbors=step.settings["neighbors"],
        seed=step.settings["seed"],
    )
    step.write_table("gaps", found.gaps, measures.GAPS_BY_K)
    step.write_table("survival", found.survival, measures.SURVIVAL_BY_K)
    step.write_table("sample_gaps", found.sample_gaps, measures.SAMPLE_GAPS_BY_K)


run_step(snakemake, compute)
