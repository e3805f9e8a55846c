"""clipaudit: from shards to the papers' tables: `snakemake --profile profiles/demo all_tables`."""


include: "rules/common.smk"
include: "rules/corpora_files.smk"
include: "rules/worlds.smk"
include: "rules/corpora.smk"
include: "rules/embed.smk"
include: "rules/train.smk"


if AUDIT is not None:

    include: "rules/similarity_files.smk"
    include: "rules/nearest.smk"
    include: "rules/prune.smk"

    if EVALUATED:

        include: "rules/evaluate.smk"


if DEDUPLICATIONS:

    include: "rules/dedup.smk"


if MEMORY is not None:

    include: "rules/memorization_files.smk"
    include: "rules/memorized_sets.smk"
    include: "rules/memorization.smk"


if PARROT is not None:

    include: "rules/parrot_files.smk"
    include: "rules/spot.smk"
    include: "rules/parrot.smk"
    include: "rules/curate.smk"


include: "rules/report_files.smk"
include: "rules/report.smk"
include: "rules/site.smk"


onstart:
    refuse_excess_of(workflow.dag, config)
    for sentence in left_out(RUN):
        logger.info(f"Left out: {sentence}", extra={"left_out": sentence})


rule all_figures:
    """Every figure of the enabled audits."""
    input:
        figure_pointers(),


rule all_tables:
    """Every table of the enabled audits, and the catalog."""
    default_target: True
    input:
        table_pointers(),
        set_manifests() if MEMORY else [],
        f"{RESULTS}/audit.duckdb",
