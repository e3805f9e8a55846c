"""Tables and figures of the papers, and the catalog of every table.

Needs: predictions, manifests, merged neighbors, similarities; pictures for galleries.
Makes: tables/<audit>_table<n>.{parquet,csv,md,tex}, figures/<audit>_fig<n>.{parquet,csv,svg,png,md},
audit.duckdb.
"""


rule report_table:
    """One table of a paper, from one SQL file."""
    input:
        unpack(table_inputs),
    output:
        table=f"{RESULTS}/tables/{{table}}.json",
        csv=f"{RESULTS}/tables/{{table}}.csv.json",
        markdown=f"{RESULTS}/tables/{{table}}.md.json",
        latex=f"{RESULTS}/tables/{{table}}.tex.json",
    log:
        "logs/report_table/{table}.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=lambda wildcards: code("report_table", *table_files(wildcards)),
        code_files=table_files,
        table=lambda wildcards: wildcards.table,
        sql=lambda wildcards: TABLES[wildcards.table].sql,
        relations=lambda wildcards: TABLES[wildcards.table].relations,
        parameters=lambda wildcards: TABLES[wildcards.table].parameters,
        notes=lambda wildcards: TABLES[wildcards.table].notes,
    script:
        "../workflow_scripts/report_table.py"


rule report_figure:
    """One figure of a paper, and the table that it shows."""
    input:
        unpack(figure_inputs),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_figure/{figure}.log",
    wildcard_constraints:
        figure=one_of(FIGURES),
    conda:
        ENVIRONMENT
    params:
        code=lambda wildcards: code("report_figure", *figure_files(wildcards)),
        numeric=["matplotlib"],
        code_files=figure_files,
        sql=lambda wildcards: FIGURES[wildcards.figure].table.sql,
        relations=lambda wildcards: FIGURES[wildcards.figure].table.relations,
        parameters=lambda wildcards: FIGURES[wildcards.figure].table.parameters,
        draw=lambda wildcards: FIGURES[wildcards.figure].draw,
        options=lambda wildcards: FIGURES[wildcards.figure].options,
        name=lambda wildcards: wildcards.figure,
        caption=lambda wildcards: FIGURES[wildcards.figure].caption,
    script:
        "../workflow_scripts/report_figure.py"


rule report_gallery:
    """One gallery of a paper: test pictures beside the pictures nearest to them."""
    input:
        unpack(gallery_inputs),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_gallery/{figure}.log",
    wildcard_constraints:
        figure=one_of(GALLERIES),
    conda:
        ENVIRONMENT
    params:
        code=code("report_gallery"),
        numeric=["matplotlib", "pillow"],
        gallery=lambda wildcards: GALLERIES[wildcards.figure].settings,
        name=lambda wildcards: wildcards.figure,
        caption=lambda wildcards: GALLERIES[wildcards.figure].caption,
    script:
        "../workflow_scripts/report_gallery.py"


rule report_memorized:
    """The most memorized samples: their pictures, and what both models find by their captions."""
    input:
        unpack(gallery_inputs),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_memorized/{figure}.log",
    wildcard_constraints:
        figure=one_of(MEMORIZED),
    conda:
        ENVIRONMENT
    params:
        code=code("report_memorized"),
        numeric=["matplotlib", "pillow"],
        gallery=lambda wildcards: MEMORIZED[wildcards.figure].settings,
        name=lambda wildcards: wildcards.figure,
        caption=lambda wildcards: MEMORIZED[wildcards.figure].caption,
    script:
        "../workflow_scripts/report_memorized.py"


rule report_spotted:
    """Pictures with text: what was spotted in them, and what their captions and scores say."""
    input:
        unpack(gallery_inputs),
        font=brought(PARROT.probe.font) if PARROT else [],
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_spotted/{figure}.log",
    wildcard_constraints:
        figure=one_of(SPOTTED),
    conda:
        ENVIRONMENT
    params:
        code=code("report_spotted"),
        numeric=["matplotlib", "pillow", "opencv-python-headless"],
        gallery=lambda wildcards: SPOTTED[wildcards.figure].settings,
        name=lambda wildcards: wildcards.figure,
        caption=lambda wildcards: SPOTTED[wildcards.figure].caption,
    script:
        "../workflow_scripts/report_spotted.py"


rule catalog:
    """results/audit.duckdb: every table of the run as a view."""
    input:
        tables=table_pointers(),
        placed=placed_pointers(),
    output:
        catalog=f"{RESULTS}/audit.duckdb",
    log:
        "logs/catalog.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=memory(16),
    params:
        code=code("catalog"),
    script:
        "../workflow_scripts/catalog.py"
