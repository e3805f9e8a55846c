"""How often words, or pairs of them, occur in the captions or the images of a part."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Count the grams."""
    from clipaudit.parrot.vocabulary import GRAMS, count_grams

    grams = count_grams(
        step.table("samples", columns=["caption"]),
        step.table("matches"),
        step.table("spans"),
        source=step.settings["source"],
        n=step.settings["length"],
        tokenization=step.settings["tokenization"],
    )
    step.write_table("grams", grams, GRAMS)


run_step(snakemake, compute)
