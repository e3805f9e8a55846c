"""One shard of a blurred corpus; see rules/corpora.smk."""

from pathlib import Path

from clipaudit.steps.workflow import reporting

with reporting(snakemake):
    from clipaudit.config.corpora import Blurred
    from clipaudit.corpora.blurring import blur_shard
    from clipaudit.corpora.faces import face_finder

    settings = Blurred.model_validate(snakemake.params.settings)
    blur_shard(
        Path(snakemake.input.tar[0]),
        Path(snakemake.output.tar),
        face_finder(
            Path(settings.detector) if settings.detector else None,
            field=settings.boxes,
            threshold=settings.threshold,
        ),
        margin=settings.margin,
    )
