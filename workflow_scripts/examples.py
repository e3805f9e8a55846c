"""The most memorized records of A, their labels, neighbours and boxes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clipaudit.steps.workflow import Step, run_step

if TYPE_CHECKING:
    import pyarrow as pa


def compute(step: Step) -> None:
    """Compare what both models recall, and collect what the report shows."""
    import pyarrow as pa

    from clipaudit.corpora.manifests import MANIFEST
    from clipaudit.memorization import examples
    from clipaudit.memorization.measures import in_one_corpus

    shards = step.settings["shards"]

    def pieces(name: str, label: str = "source") -> "Iterator[pa.Table]":
        for file in step.labelled(name):
            source = file.labels[label].removesuffix(".drawn")
            yield in_one_corpus([(source, file.table())], shards)

    def kept(name: str) -> "pa.Table":
        rows = pa.concat_tables([MANIFEST.empty_table(), *pieces(name, "corpus")])
        return rows.filter(rows["kept"])

    models = {"target": "a", "reference": "b"}
    found = examples.most_memorized(
        {model: pa.concat_tables(pieces(f"recalls_{name}")) for model, name in models.items()},
        kept("kept_a"),
        kept("kept_holdout"),
        examples.ExampleInputs(
            samples=pieces("samples"),
            truths=pieces("truths", "corpus"),
            retrieved={model: pieces(f"retrieved_{name}") for model, name in models.items()},
            public=step.tables("public"),
            vocabulary=step.tables("vocabulary"),
        ),
        shards=shards,
        k=step.settings["neighbors"],
        examples=step.settings["examples"],
    )
    step.write_table("labels", found.labels, examples.EXAMPLES)
    step.write_table("neighbors", found.neighbors, examples.EXAMPLE_NEIGHBORS)
    step.write_table("boxes", found.boxes, examples.EXAMPLE_BOXES)


run_step(snakemake, compute)
