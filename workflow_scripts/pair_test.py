"""Whether a model knows the pairs of a source that it was trained on, against a hold-out."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare the members with the hold-out."""
    import pyarrow.compute as pc

    from clipaudit.memorization.measures import kept_in_one_corpus, read_in_one_corpus
    from clipaudit.memorization.pair_tests import AUGMENTED, PAIR_TESTS, pair_test

    shards, known = step.settings["shards"], ("target", "reference", *AUGMENTED)
    scores, recalls = (
        {
            name: read_in_one_corpus(step.labelled(f"{kind}_{name}"), shards)
            for name in known
            if step.files(f"{kind}_{name}")
        }
        for kind in ("scores", "recalls")
    )
    found = pair_test(
        scores,
        {
            name: table.filter(pc.equal(table["k"], step.settings["neighbors"]))
            for name, table in recalls.items()
        },
        kept_in_one_corpus(step.labelled("members"), shards),
        kept_in_one_corpus(step.labelled("holdout"), shards),
        seed=step.settings["seed"],
    )
    step.write_table("test", found, PAIR_TESTS)


run_step(snakemake, compute)
