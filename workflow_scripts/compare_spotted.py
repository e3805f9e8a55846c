"""The spotted text, compared with what the world wrote into its images."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare a part with its truth."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from clipaudit.parrot.spotted_truth import SPOTTED_TRUTH, compare

    truth = pa.concat_tables(pq.read_table(path) for path in step.files("truths"))
    compared = compare(truth, step.table("spans"), step.table("matches"))
    step.write_table("compared", compared, SPOTTED_TRUTH)


run_step(snakemake, compute)
