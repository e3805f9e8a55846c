"""What was found in a synthetic world, compared with the copies planted there."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare what was found with the truth."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from clipaudit.copies.planted import PLANTED, compare_planted

    (train,) = {
        file.labels["corpus"] for file in [*step.labelled("copies"), *step.labelled("repeats")]
    }
    found = {name: step.table("copies", testset=name) for name in step.settings["test_sets"]}
    if step.files("repeats"):
        found[train] = step.table("repeats")
    truth = pa.concat_tables(pq.read_table(path) for path in step.files("truths"))
    step.write_table("compared", compare_planted(truth, found, train), PLANTED)


run_step(snakemake, compute)
