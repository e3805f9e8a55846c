"""The catalog: results/audit.duckdb, with the report's tables and their sources as views.

A view is named after the stage and unites the Parquet objects of all its pointers; the labels of
each file (corpus, part, model, test set ...) become columns in front. Views hold absolute paths,
so the file works from any folder; it is replaced by rename and holds no data itself. The view
`audit` joins them: one row per sample across the audits. `drops` unites the samples that any stage
could not use. `duckdb_columns()` gives column meanings.
"""

import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb.func import ARROW

from clipaudit.catalog.columns import comment_views
from clipaudit.catalog.lockable import lockable, written_elsewhere
from clipaudit.catalog.parts import audit_parts
from clipaudit.catalog.refusals import refusal
from clipaudit.catalog.sqltext import identifier, literal
from clipaudit.catalog.tables import CatalogFile, view_columns, write_tables
from clipaudit.catalog.view_parts import Columns, drop_rows, dropped, removed, repeated
from clipaudit.config.settings import Settings
from clipaudit.errors import StoreError
from clipaudit.store.placements import placements
from clipaudit.store.records import Record
from clipaudit.store.store import Pointer, Store

CATALOG = "audit.duckdb"


def catalog_files(results: Path, store: Store, actions: Mapping[str, Record]) -> list[CatalogFile]:
    """Return the Parquet objects that these actions put below `results`, in path order.

    `actions` are lineage records by key. A missing object is left out; `clipaudit verify` reports
    it.
    """
    files = []
    for path, placement in placements(results).items():
        if placement.action not in actions or not path.with_suffix(".parquet").is_symlink():
            continue
        pointer = Pointer.read(path)
        if store.has(pointer.digest) and not pointer.is_left_out:
            inside = path.relative_to(results)
            tables = inside.parts[0] == "tables"
            view = inside.stem if tables else _view(inside, placement.labels)
            place = store.path(pointer.digest).absolute()
            files.append(CatalogFile(view, place, placement.labels, placement.action))
    return files


def _view(inside: Path, labels: Mapping[str, str]) -> str:
    """Return a pointer's view: its stage, `drops_index`, or `neighbors_merged` for all parts."""
    stage = inside.parts[0]
    if stage == "drops":
        return f"drops_{inside.parts[1]}"
    return "neighbors_merged" if stage == "neighbors" and "part" not in labels else stage


def write_catalog(
    files: Iterable[CatalogFile],
    actions: Mapping[str, Record],
    path: Path,
    run: Settings | None = None,
) -> None:
    """Write a DuckDB file with a view for each name among `files`, and the cost of the actions.

    The view `audit` has one row per sample, as `audit_view` selects by the settings. The tables
    `executions` and `epochs` record the time of each action, and of training up to each kept epoch,
    with the machine that computed it, perhaps in another run. Every view and column has a comment.
    """
    groups: dict[str, list[CatalogFile]] = {}
    for file in files:
        groups.setdefault(file.view, []).append(file)
    with written_elsewhere() as made:
        _write(groups, actions, made, run)
        shutil.copyfile(made, path)


def _write(
    groups: Mapping[str, Sequence[CatalogFile]],
    actions: Mapping[str, Record],
    path: Path,
    run: Settings | None,
) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("begin")  # one write to disk for all views and comments
        write_tables(connection, groups, actions)
        for view, members in sorted(groups.items()):
            connection.execute(_view_sql(view, members))
        drops = drop_rows(view_columns(connection))
        if drops and "drops" not in groups:
            connection.execute(f"create view drops as\n{drops}")
        audit = audit_view(view_columns(connection), run)
        if audit is not None and "audit" not in groups:
            connection.execute(audit)
        comment_views(connection, view_columns(connection), _report_queries(groups, actions))
        connection.execute("commit")


def _report_queries(
    groups: Mapping[str, Sequence[CatalogFile]], actions: Mapping[str, Record]
) -> dict[str, str]:
    """Return the name of each report table's SQL, which related tables share."""
    makers = {view: actions.get(members[0].action) for view, members in groups.items()}
    return {
        view: str(record.ingredients.settings["sql"])
        for view, record in makers.items()
        if record and "sql" in record.ingredients.settings
    }


def _view_sql(view: str, members: Sequence[CatalogFile]) -> str:
    """Return the statement that creates a view.

    Pointers with equal content share an object. It is read once, and its rows appear once for each
    pointer's labels.
    """
    own = set(pq.read_schema(members[0].path).names)
    labels = sorted({name for file in members for name in file.labels} - own)
    columns = "".join(f"files.labels[{literal(name)}] as {identifier(name)}, " for name in labels)
    paths = ", ".join(literal(path) for path in sorted({str(file.path) for file in members}))
    return (
        f"create view {identifier(view)} as select {columns}rows.* exclude (filename) "
        f"from read_parquet([{paths}], filename = true, union_by_name = true) as rows "
        f"join files on files.path = rows.filename and files.view = {literal(view)}"
    )


# --- the view `audit` ----------------------------------------------------------------------------


def audit_view(columns: Columns, run: Settings | None) -> str | None:
    """Return the statement that creates `audit` over views with these columns.

    Returns None if there are no samples. A derived corpus, such as `scenes.drawn`, counts as the
    corpus of its samples. With several encoders, models or settings, the view shows the numbers of
    those that the settings name first; without settings, the first by name.
    """
    if not {"corpus", "shard", "row"} <= set(columns.get("samples", ())):
        return None
    steps = {"removed": removed(columns), "repeated": repeated(columns)}
    shown = [_SAMPLE, _MANIFESTS]
    on = () if run is None else [audit.name for audit, _ in run.audits()]
    for part in audit_parts(on):
        steps |= part.queries(columns, run)
        shown.append(part.columns)
    steps["dropped"] = dropped(columns)
    named = ",\n\n".join(f"{name} as (\n{sql}\n)" for name, sql in steps.items())
    joins = "\n".join(f"left join {name} using (corpus, shard, row)" for name in steps)
    select = "\n".join(["select", *shown, "    dropped.reasons as drops,", "from samples"])
    return f"create view audit as\nwith {named}\n\n{select}\n{joins}\nwhere corpus is not null"


_SAMPLE = """\
    samples.corpus,
    samples.shard,
    samples.row,
    samples.uid,
    samples.key,
    samples.caption,
    samples.label,
    samples.width,
    samples.height,"""

_MANIFESTS = """\
    removed.kept_by,
    removed.pruned_from,
    removed.pruned_because,
    repeated.cluster as duplicate_cluster,
    -repeated.found.away as duplicate_similarity,
    repeated.found.shard as duplicate_shard,
    repeated.found.row as duplicate_row,"""


# --- reading -------------------------------------------------------------------------------------


@contextmanager
def open_catalog(
    results: Path | str, store: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a run's catalog read-only, without access to other files.

    SQL may call `embedding_array(embedding)` for a list of floats. With a `store`, its packed
    lineage records are readable too. Raises StoreError if there is no catalog, and InputError, with
    DuckDB's message, for SQL that it refuses. Run untrusted SQL only after checking that it is a
    query (clipaudit.catalog.answers): other statements may write wherever objects are readable.
    """
    path = Path(results) / CATALOG
    if not path.is_file():
        asked = shlex.quote(str(path))
        raise StoreError(f"{path}: no such catalog. Run `clipaudit run SETTINGS {asked}` first.")
    with (
        lockable(path) as readable,
        duckdb.connect(str(readable), read_only=True) as connection,
    ):
        paths = connection.execute("select path from files").fetchall()
        folders = sorted({str(Path(file).parents[1]) for (file,) in paths})
        if store is not None:
            folders.append(str((store / "lineage").absolute()))
        connection.execute(f"set allowed_directories = [{', '.join(map(literal, folders))}]")
        connection.execute("set python_enable_replacements = false")
        connection.execute("set enable_external_access = false")
        connection.execute("set lock_configuration = true")
        connection.create_function(
            "embedding_array", embedding_array, ["blob"], "float[]", type=ARROW
        )
        try:
            yield connection
        except duckdb.Error as error:
            raise refusal(connection, "", error) from error


def embedding_array(embeddings: pa.ChunkedArray) -> pa.Array:
    """Return stored embeddings, float16 in bytes, as lists of float32.

    >>> embedding_array(pa.chunked_array([[b"\\x00\\x3c\\x00\\xb8"]])).to_pylist()
    [[1.0, -0.5]]
    """
    rows = embeddings.to_pylist()
    values = np.frombuffer(b"".join(rows), "<f2").astype(np.float32)
    ends = np.cumsum([0, *(len(row) // 2 for row in rows)], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(values))
