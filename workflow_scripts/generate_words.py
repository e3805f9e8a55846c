"""Class names and vocabulary of a synthetic world; see rules/worlds.smk."""

from pathlib import Path

from clipaudit.steps.workflow import reporting

with reporting(snakemake):
    from pydantic import TypeAdapter

    from clipaudit.config.worlds import World
    from clipaudit.demo.worlds import write_words

    write_words(
        TypeAdapter(World).validate_python(snakemake.params.world),
        Path(snakemake.output.classes),
        Path(snakemake.output.vocabulary),
    )
