"""The manifest of a part without copies of test images."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Remove copies of any test image."""
    import pyarrow as pa

    from clipaudit.copies.groups import without_copies
    from clipaudit.corpora.manifests import MANIFEST, keep_all

    tables = []
    for file in step.labelled("copies"):
        table = file.table()
        name = pa.repeat(pa.scalar(file.labels["testset"]), len(table))
        tables.append(table.append_column("testset", name))
    samples = step.table("samples", columns=["shard", "row"])
    manifest = without_copies(keep_all(samples), pa.concat_tables(tables))
    step.write_table("manifest", manifest, MANIFEST, pruning="without-copies")


run_step(snakemake, compute)
