"""The catalog of a whole run that made some tables: the view that names their files."""

import duckdb


def whole_run_made(results, *tables):
    with duckdb.connect(results / "audit.duckdb") as catalog:
        catalog.execute("create or replace table files (view text, path text, action text)")
        for name in tables:
            catalog.execute("insert into files values (?, '/store/objects/00/0', 'a')", [name])
