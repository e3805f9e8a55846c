"""Tables and figures of the papers, and the catalog of every table.

Needs: predictions, manifests, merged neighbors, similarities; pictures for galleries.
Makes: tables/<audit>_table<n>.{parquet,csv,md,tex}, figures/<audit>_fig<n>.{parquet,csv,svg,png,md},
audit.duckdb.
"""


rule report_table:
    """One table of a paper, from one SQL file."""
    input:
        unpack(REPORTS.table_inputs),
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
        code=REPORTS.table_code,
        code_files=REPORTS.table_files,
        table="{table}",
        sql=REPORTS.table_sql,
        relations=REPORTS.table_relations,
        parameters=REPORTS.table_parameters,
        notes=REPORTS.table_notes,
    script:
        "../workflow_scripts/report_table.py"


rule report_figure:
    """One figure of a paper, and the table that it shows."""
    input:
        unpack(REPORTS.figure_inputs),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_figure/{figure}.log",
    wildcard_constraints:
        figure=one_of(REPORTS.figures),
    conda:
        ENVIRONMENT
    params:
        code=REPORTS.figure_code,
        numeric=["matplotlib"],
        code_files=REPORTS.figure_files,
        sql=REPORTS.figure_sql,
        relations=REPORTS.figure_relations,
        parameters=REPORTS.figure_parameters,
        draw=REPORTS.figure_form,
        options=REPORTS.figure_options,
        name="{figure}",
        caption=REPORTS.figure_caption,
    script:
        "../workflow_scripts/report_figure.py"


rule report_gallery:
    """One gallery of a paper: test pictures beside the pictures nearest to them."""
    input:
        unpack(REPORTS.gallery_inputs),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_gallery/{figure}.log",
    wildcard_constraints:
        figure=one_of(REPORTS.galleries),
    conda:
        ENVIRONMENT
    params:
        code=code("report_gallery"),
        numeric=["matplotlib", "pillow"],
        gallery=REPORTS.gallery_settings,
        name="{figure}",
        caption=REPORTS.gallery_caption,
    script:
        "../workflow_scripts/report_gallery.py"


rule report_memorized:
    """The most memorized samples: their pictures, and what both models find by their captions."""
    input:
        unpack(REPORTS.gallery_inputs),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_memorized/{figure}.log",
    wildcard_constraints:
        figure=one_of(REPORTS.memorized),
    conda:
        ENVIRONMENT
    params:
        code=code("report_memorized"),
        numeric=["matplotlib", "pillow"],
        gallery=REPORTS.gallery_settings,
        name="{figure}",
        caption=REPORTS.gallery_caption,
    script:
        "../workflow_scripts/report_memorized.py"


rule report_spotted:
    """Pictures with text: what was spotted in them, and what their captions and scores say."""
    input:
        unpack(REPORTS.gallery_inputs),
        font=REPORTS.gallery_font(),
    output:
        table=f"{RESULTS}/figures/{{figure}}.json",
        csv=f"{RESULTS}/figures/{{figure}}.csv.json",
        svg=f"{RESULTS}/figures/{{figure}}.svg.json",
        png=f"{RESULTS}/figures/{{figure}}.png.json",
        markdown=f"{RESULTS}/figures/{{figure}}.md.json",
    log:
        "logs/report_spotted/{figure}.log",
    wildcard_constraints:
        figure=one_of(REPORTS.spotted),
    conda:
        ENVIRONMENT
    params:
        code=code("report_spotted"),
        numeric=["matplotlib", "pillow", "opencv-python-headless"],
        gallery=REPORTS.gallery_settings,
        name="{figure}",
        caption=REPORTS.gallery_caption,
    script:
        "../workflow_scripts/report_spotted.py"


rule catalog:
    """results/audit.duckdb: every table of the run as a view."""
    input:
        tables=REPORTS.table_pointers(),
        placed=REPORTS.placed_pointers(),
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
