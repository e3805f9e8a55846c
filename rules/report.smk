"""Tables of the papers, one SQL file each, and the catalog of every table.

Needs: predictions, manifests, merged neighbors, similarities.
Makes: tables/<audit>_table<n>.{parquet,csv,md,tex}, audit.duckdb.
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
        "../envs/cpu.yaml"
    params:
        code=lambda wildcards: code("report_table", *table_files(wildcards)),
        code_files=table_files,
        table=lambda wildcards: wildcards.table,
        relations=lambda wildcards: TABLES[wildcards.table].relations,
        parameters=lambda wildcards: TABLES[wildcards.table].parameters,
    script:
        "../workflow_scripts/report_table.py"


rule catalog:
    """results/audit.duckdb: every table of the run as a view."""
    input:
        tables=table_pointers(),
    output:
        catalog=f"{RESULTS}/audit.duckdb",
    log:
        "logs/catalog.log",
    conda:
        "../envs/cpu.yaml"
    params:
        code=code("catalog"),
    script:
        "../workflow_scripts/catalog.py"
