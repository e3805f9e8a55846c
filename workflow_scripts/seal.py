"""A manifest over all its parts and corpora, as one file for training and streams."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Seal the manifest."""
    from clipaudit.corpora.classes import captioning_of
    from clipaudit.corpora.manifests import corpus_to_seal
    from clipaudit.corpora.sealed import seal

    classes = iter(step.files("classes"))
    corpora = []
    for corpus, settings in step.settings["captionings"].items():
        shards = step.table("shards", corpus=corpus)
        captioning = captioning_of(settings, next(classes) if settings["needs_label"] else None)
        rows = dict(zip(shards["shard"].to_pylist(), shards["rows"].to_pylist(), strict=True))
        digests, parts = shards["sha256"].to_pylist(), step.tables("manifests", corpus=corpus)
        corpora.append(corpus_to_seal(corpus, captioning, digests, rows, parts))
    step.write_bytes("sealed", seal(corpora), ".sealed")


run_step(snakemake, compute)
