"""Whether an encoder distinguishes a corpus's images."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare random samples of the corpus."""
    from clipaudit.embeddings.encoder_check import ENCODER_CHECK, check_encoder

    columns = ["shard", "row", "label", "image_sha256"]
    samples = step.tables("samples", columns=columns)
    checked = check_encoder(step.batches("embeddings"), samples)
    step.write_table("check", checked, ENCODER_CHECK)


run_step(snakemake, compute)
