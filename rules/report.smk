"""Tables and figures of the papers, computed and then drawn, and the catalog of every table.

Needs: what the tables of the audits that are on are made from. Galleries: the audits' own rules.
Makes: tables/<audit>_table<n>.{parquet,csv,md,tex}, figures/<audit>_fig<n>.{parquet,csv,svg,png,md},
audit.duckdb.
"""

TABLE_LIBRARIES = ["duckdb", "numpy", "scipy"]  # averages and bootstraps are numeric


rule report_table:
    """One table of the report, from one SQL file."""
    input:
        unpack(REPORTS.table_inputs),
    output:
        table=f"{RESULTS}/tables/{{table}}.json",
    log:
        "logs/report_table/{table}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=REPORTS.table_code,
        numeric=TABLE_LIBRARIES,
        code_files=REPORTS.table_files,
        table="{table}",
        sql=REPORTS.table_sql,
        relations=REPORTS.table_relations,
        parameters=REPORTS.table_parameters,
    script:
        "../workflow_scripts/report_table.py"


use rule report_table as report_figure with:
    input:
        unpack(REPORTS.figure_inputs),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
    log:
        "logs/report_figure/{figure}.log",
    wildcard_constraints:
        figure=one_of(REPORTS.figures),
    params:
        code=REPORTS.figure_code,
        numeric=TABLE_LIBRARIES,
        code_files=REPORTS.figure_files,
        script="report_table",
        table="{figure}",
        sql=REPORTS.figure_sql,
        relations=REPORTS.figure_relations,
        parameters=REPORTS.figure_parameters,


rule draw_table:
    """A table as people read it: its columns' titles, caption and notes."""
    input:
        table=f"{RESULTS}/tables/{{table}}.json",
    output:
        csv=f"{RESULTS}/tables/{{table}}.csv.json",
        markdown=f"{RESULTS}/tables/{{table}}.md.json",
        latex=f"{RESULTS}/tables/{{table}}.tex.json",
    log:
        "logs/draw_table/{table}.log",
    conda:
        ENVIRONMENT
    params:
        code=REPORTS.table_drawing_code,
        code_files=REPORTS.table_layout,
        table="{table}",
        notes=REPORTS.table_notes,
    script:
        "../workflow_scripts/draw_table.py"


rule draw_figure:
    """The picture of a figure, drawn from its table alone."""
    input:
        table=f"{RESULTS}/figures/{{figure}}.json",
    output:
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/draw_figure/{figure}.log",
    wildcard_constraints:
        figure=one_of(REPORTS.figures),
    conda:
        ENVIRONMENT
    params:
        code=REPORTS.figure_drawing_code,
        numeric=["matplotlib", "numpy", "pillow"],
        code_files=REPORTS.figure_form_files,
        figure="{figure}",
        form=REPORTS.figure_form,
        options=REPORTS.figure_options,
        caption=REPORTS.figure_caption,
    script:
        "../workflow_scripts/draw_figure.py"


rule catalog:
    """results/audit.duckdb: every table of the run as a view."""
    input:
        tables=REPORTS.table_pointers(),
        unread=REPORTS.unread_pointers(),
    output:
        catalog=f"{RESULTS}/audit.duckdb",
    log:
        "logs/catalog.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("catalog", *CATALOG_FILES),
        code_files=CATALOG_FILES,
    script:
        "../workflow_scripts/catalog.py"
