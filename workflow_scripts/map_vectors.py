"""A map of the embeddings of a sample of a corpus, and of test sets beside it."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Draw samples and place them on a plane."""
    from clipaudit.embeddings.vector_map import VECTOR_MAP, map_vectors

    tests = {name: step.tables("tests", corpus=name) for name in step.settings["test_sets"]}
    sizes = {name: step.settings[name] for name in ("samples", "test_samples", "seed")}
    mapped = map_vectors(step.batches("embeddings"), tests, **sizes)
    step.write_table("map", mapped, VECTOR_MAP)


run_step(snakemake, compute)
