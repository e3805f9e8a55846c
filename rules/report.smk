"""Tables and figures of the papers, computed and then drawn, and the catalog of every table.

Inputs: those of the tables of the enabled audits. The audits' own rules make galleries.
Outputs: tables/<audit>_table<n>.{parquet,csv,md,tex}, figures/<audit>_fig<n>.{parquet,csv,svg,png,md},
maps/<encoder>/<corpus>.json, audit.duckdb.
"""

TABLE_LIBRARIES = ["duckdb", "numpy", "scipy"]  # averages and bootstraps are numeric


rule report_table:
    """One table of the report, from one SQL file."""
    input:
        unpack(REPORTS.computed_inputs),
    output:
        table=f"{RESULTS}/tables/{{table}}.json",
    log:
        "logs/report_table/{table}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=REPORTS.computed_code,
        numeric=TABLE_LIBRARIES,
        code_files=REPORTS.computed_files,
        script="report_table",
        table="{table}",
        sql=REPORTS.computed("sql"),
        relations=REPORTS.computed("relations"),
        parameters=REPORTS.computed("parameters"),
    script:
        "../workflow_scripts/report_table.py"


use rule report_table as report_figure with:
    output:
        table=f"{RESULTS}/figures/{{table}}.json",
    log:
        "logs/report_figure/{table}.log",
    wildcard_constraints:
        table=one_of(REPORTS.figures),


rule draw_table:
    """A table in its readable forms, with column titles, caption and notes."""
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
        code=REPORTS.layout_code,
        code_files=REPORTS.layout,
        table="{table}",
        notes=REPORTS.computed("notes"),
    script:
        "../workflow_scripts/draw_table.py"


rule draw_figure:
    """A figure drawn only from its table."""
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
        code=REPORTS.form_code,
        numeric=["matplotlib", "numpy", "pillow"],
        code_files=REPORTS.form_files,
        figure="{figure}",
        form=REPORTS.drawn("form"),
        options=REPORTS.drawn("options"),
        caption=REPORTS.caption,
    script:
        "../workflow_scripts/draw_figure.py"


rule map_vectors:
    """A map of a sample of a corpus and of test sets: near vectors are near in the plane."""
    input:
        embeddings=REPORTS.mapped_embeddings,
        tests=REPORTS.mapped_tests,
    output:
        map=f"{RESULTS}/maps/{{encoder}}/{{corpus}}.json",
    log:
        "logs/map_vectors/{encoder}/{corpus}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("map_vectors"),
        numeric=["numpy", "scikit-learn", "scipy"],
        test_sets=REPORTS.mapped_test_sets,
        samples=RUN.report.maps.samples,
        test_samples=RUN.report.maps.test_samples,
        seed=RUN.report.maps.seed,
    script:
        "../workflow_scripts/map_vectors.py"


rule catalog:
    """results/audit.duckdb: every table of the run as a view."""
    input:
        tables=REPORTS.table_pointers,
        unread=REPORTS.unread_pointers,
    output:
        catalog=f"{RESULTS}/audit.duckdb",
    log:
        "logs/catalog.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("catalog", *REPORTS.catalog_files),
        code_files=REPORTS.catalog_files,
    script:
        "../workflow_scripts/catalog.py"
