"""A manifest over all its parts and corpora, as one file for training and streams."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Seal the manifest."""
    from clipaudit.corpora.classes import CaptionSettings
    from clipaudit.corpora.manifests import corpus_to_seal
    from clipaudit.corpora.sealed import seal

    classes = iter(step.files("classes"))
    corpora = []
    for corpus in step.settings["captionings"]:
        asked = step.settings_as(CaptionSettings, "captionings", corpus)
        shards = step.table("shards", corpus=corpus)
        captioning = asked.captioning(next(classes) if asked.needs_label else None)
        rows = dict(zip(shards["shard"].to_pylist(), shards["rows"].to_pylist(), strict=True))
        digests, parts = shards["sha256"].to_pylist(), step.tables("manifests", corpus=corpus)
        corpora.append(corpus_to_seal(corpus, captioning, digests, rows, parts))
    step.write_bytes("sealed", seal(corpora), ".sealed")


run_step(snakemake, compute)
