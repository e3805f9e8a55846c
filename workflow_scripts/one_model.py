"""What a model recalls beyond what captions alone tell, of its records and of a hold-out."""

from typing import TYPE_CHECKING

from clipaudit.steps.workflow import Step, run_step

if TYPE_CHECKING:
    import pyarrow as pa


def compute(step: Step) -> None:
    """Compare the target with each reference."""
    from clipaudit.memorization.measures import in_one_corpus
    from clipaudit.memorization.one_model import ONE_MODEL, one_model

    def joined(name: str, label: str = "source") -> "pa.Table":
        tables = ((file.labels[label], file.table()) for file in step.labelled(name))
        return in_one_corpus(tables, step.settings["shards"])

    references = [name for name in ("words", "captions", "model") if step.files(name)]
    members, holdout = (joined(name, "corpus") for name in ("members", "holdout"))
    found = one_model(
        joined("target"),
        {name: joined(name) for name in references},
        members.filter(members["kept"]),
        holdout.filter(holdout["kept"]),
        neighbors=step.settings["neighbors"],
    )
    step.write_table("gaps", found, ONE_MODEL)


run_step(snakemake, compute)
