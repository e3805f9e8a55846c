"""Shards of a blurred corpus."""

from pathlib import Path

from clipaudit.steps.workflow import reporting

with reporting(snakemake):
    from clipaudit.config.corpora import Blurred
    from clipaudit.corpora.blurring import blur_shard
    from clipaudit.corpora.faces import face_finder

    settings = Blurred.model_validate(snakemake.params.settings)
    find_faces = face_finder(
        Path(settings.detector) if settings.detector else None,
        field=settings.boxes,
        threshold=settings.threshold,
    )
    for source, target in zip(snakemake.input.tars, snakemake.output.tars, strict=True):
        blur_shard(Path(source), Path(target), find_faces, margin=settings.margin)
