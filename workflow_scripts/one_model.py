"""What a model recalls beyond what captions alone reveal, for its records and a hold-out."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare the target with each reference."""
    from clipaudit.memorization.measures import kept_in_one_corpus, read_in_one_corpus
    from clipaudit.memorization.one_model import ONE_MODEL, one_model

    shards = step.settings["shards"]
    recalls = {
        name: read_in_one_corpus(step.labelled(name), shards)
        for name in ("target", "words", "captions", "model")
        if step.files(name)
    }
    found = one_model(
        recalls.pop("target"),
        recalls,
        kept_in_one_corpus(step.labelled("members"), shards),
        kept_in_one_corpus(step.labelled("holdout"), shards),
        neighbors=step.settings["neighbors"],
    )
    step.write_table("gaps", found, ONE_MODEL)


run_step(snakemake, compute)
