"""The catalog of a whole run that made some tables, with the view that names files."""

import duckdb

from clipaudit.store.placements import placement


def whole_run_made(results, *tables):
    made = [
        (name, f"/store/objects/00/{name}", placement(results, results / f"tables/{name}.json"))
        for name in tables
    ]
    with duckdb.connect(results / "audit.duckdb") as catalog:
        catalog.execute("create or replace table files (view text, path text, action text)")
        for name, path, placed in made:
            catalog.execute("insert into files values (?, ?, ?)", [name, path, placed.action])
