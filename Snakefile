"""clipaudit: from shards to the papers' tables: `snakemake --profile profiles/demo all_tables`."""


include: "rules/common.smk"
include: "rules/worlds.smk"
include: "rules/corpora.smk"
include: "rules/embed.smk"
include: "rules/train.smk"


if RUN.similarity is not None:

    include: "rules/nearest.smk"
    include: "rules/prune.smk"
    include: "rules/evaluate.smk"


if DEDUPLICATION.asked:

    include: "rules/dedup.smk"


if RUN.memorization is not None:

    include: "rules/memorized_sets.smk"
    include: "rules/memorization.smk"


if RUN.parrot is not None:

    include: "rules/spot.smk"
    include: "rules/parrot.smk"
    include: "rules/curate.smk"


include: "rules/report.smk"
include: "rules/site.smk"


onstart:
    refuse_excess_of(workflow.dag, config)
    for sentence in left_out(RUN):
        logger.info(f"Left out: {sentence}", extra={"left_out": sentence})


rule all_figures:
    """Every figure of the enabled audits."""
    input:
        REPORTS.figure_pointers(),


rule all_tables:
    """Every table of the enabled audits, and the catalog."""
    default_target: True
    input:
        REPORTS.table_pointers(),
        MEMORIZATION.set_manifests() if RUN.memorization else [],
        f"{RESULTS}/audit.duckdb",
