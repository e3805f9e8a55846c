"""The HTML report: results/report/index.html.

Inputs: every table, every figure, the catalog.
Outputs: report/, a folder of pages that opens from disk, without a server or network.
"""


rule report:
    """results/report: the audits' results, each number with its sources."""
    input:
        tables=REPORTS.table_pointers,
        figures=REPORTS.figure_pointers,
        drawn=[*REPORTS.drawn_tables, *REPORTS.drawn_figures],
        catalog=f"{RESULTS}/audit.duckdb",
    output:
        report=report(
            directory(f"{RESULTS}/report"),
            caption="report.rst",
            category="Report",
            htmlindex="index.html",
        ),
    log:
        "logs/report.log",
    conda:
        ENVIRONMENT
    params:
        code=code("report", *REPORTS.site_files),
        code_files=REPORTS.site_files,
        settings=lambda wildcards: RUN.settings_of_results(),  # has braces
    script:
        "../workflow_scripts/report.py"
