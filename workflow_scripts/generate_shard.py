"""One shard of a synthetic corpus; see rules/worlds.smk."""

from pathlib import Path

from clipaudit.steps.workflow import reporting

with reporting(snakemake):
    from pydantic import TypeAdapter

    from clipaudit.config.worlds import World
    from clipaudit.demo.worlds import write_shard

    write_shard(
        TypeAdapter(World).validate_python(snakemake.params.world),
        snakemake.wildcards.corpus,
        int(snakemake.wildcards.shard),
        Path(snakemake.output.tar),
        Path(snakemake.output.truth),
    )
