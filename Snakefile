"""clipaudit: from shards to the papers' tables: `snakemake --profile profiles/local all_tables`."""


include: "rules/common.smk"
include: "rules/worlds.smk"
include: "rules/corpora.smk"
include: "rules/embed.smk"
include: "rules/train.smk"


if DEDUPLICATION.asked:

    include: "rules/dedup.smk"


for audit, _ in RUN.audits():
    for rules_file in rules_of(audit):

        include: rules_file


include: "rules/report.smk"
include: "rules/site.smk"


onstart:
    refuse_failures_of(RUN)
    refuse_excess_of(workflow.dag, config)
    if outdated := remove_outdated_parts(RUN, Path(RESULTS)):
        logger.info(
            f"Removed from {RESULTS}: {outdated} pointers of parts that corpora had before"
        )
    for sentence in [*left_out(RUN), *unchecked(RUN)]:
        logger.info(f"Left out: {sentence}", extra={"left_out": sentence})


onsuccess:
    if any(job.rule.name == "report" for job in workflow.dag.jobs):
        logger.info(
            f"Report: {RESULTS}/report/index.html. `clipaudit answers SETTINGS` prints its answers."
        )


rule all_figures:
    """Every figure of the enabled audits."""
    input:
        REPORTS.figure_pointers,
        REPORTS.drawn_figures,


rule all_tables:
    """Every table of the enabled audits, and the catalog."""
    default_target: True
    input:
        REPORTS.table_pointers,
        REPORTS.drawn_tables,
        BESIDES,
        f"{RESULTS}/audit.duckdb",
