"""Whether a model knows the pairs of a source that it trained on, against a hold-out."""

from typing import TYPE_CHECKING

from clipaudit.steps.workflow import Step, run_step

if TYPE_CHECKING:
    import pyarrow as pa


def compute(step: Step) -> None:
    """Set the members against the hold-out."""
    import pyarrow.compute as pc

    from clipaudit.memorization.measures import in_one_corpus
    from clipaudit.memorization.pair_tests import AUGMENTED, PAIR_TESTS, pair_test

    def joined(name: str, label: str = "source") -> "pa.Table":
        tables = ((file.labels[label], file.table()) for file in step.labelled(name))
        return in_one_corpus(tables, step.settings["shards"])

    known = ("target", "reference", *AUGMENTED)
    models = [name for name in known if step.files(f"scores_{name}")]
    recalls = {name: joined(f"recalls_{name}") for name in models if step.files(f"recalls_{name}")}
    members, holdout = (joined(name, "corpus") for name in ("members", "holdout"))
    found = pair_test(
        {name: joined(f"scores_{name}") for name in models},
        {
            name: table.filter(pc.equal(table["k"], step.settings["neighbors"]))
            for name, table in recalls.items()
        },
        members.filter(members["kept"]),
        holdout.filter(holdout["kept"]),
        seed=step.settings["seed"],
    )
    step.write_table("test", found, PAIR_TESTS)


run_step(snakemake, compute)
