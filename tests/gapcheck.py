"""Two hand-made runs of the table similarity_gap_check: small, and made by real SQL."""

import pyarrow as pa

from clipaudit.reports.tables import report_table

TABLE = "tables/similarity_gap_check.json"
SEARCHES = [{"position": 0, "search": "pruned", "testset": "val"}]


def check_gaps(run, *, gaps, kept, title="val", code="code", gives=None):
    """Make the table of one test set from its images' gaps and the nearest of the kept images.

    `gaps` and `kept` are lists of image similarities, one list per file; `gives` replaces the
    result of the SQL.
    """
    testsets = [{"position": 0, "testset": "val", "title": title}]
    views = {
        "neighbors": act_files(run, "neighbors", gaps, {}),
        "kept_neighbors": act_files(run, "kept_neighbors", kept, {"search": "pruned"}),
    }
    relations = {"searches": SEARCHES, "testsets": testsets}
    settings = {
        "table": "x",
        "sql": "similarity_gap_check",
        "relations": relations,
        "parameters": {},
    }
    tables = {view: pa.concat_tables(files.values()) for view, files in views.items()}
    named = {name: pa.Table.from_pylist(rows) for name, rows in relations.items()}
    table = report_table("similarity_gap_check", {**tables, **named}, {})
    inputs = {view: list(files) for view, files in views.items()}
    run.act(
        TABLE,
        step="report_table",
        code=code,
        settings=settings,
        inputs=inputs,
        gives=gives or table,
    )


def act_files(run, view, parts, labels):
    """Put the files of a view in place; return their tables by path, with labels as columns."""
    made, first = {}, 0
    for number, similarities in enumerate(parts):
        rows = [
            {"test_shard": 0, "test_row": first + row, "rank": 0, "similarity": similarity}
            for row, similarity in enumerate(similarities)
        ]
        first += len(rows)
        path, each = f"{view}/{number}.json", {"testset": "val", "part": str(number), **labels}
        run.act(path, settings={"of": [view, rows]}, gives=rows, labels=each)
        made[path] = pa.Table.from_pylist([{**row, **each} for row in rows])
    return made
