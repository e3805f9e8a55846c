"""`clipaudit diff`: show which cells of the tables differ between two runs, and why."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from operator import itemgetter
from pathlib import Path

import click

from clipaudit.cli import completion
from clipaudit.cli.options import format_option, results_option, store_option
from clipaudit.plaindata import Json, plain_value
from clipaudit.plaintext import cell as csv_text
from clipaudit.plaintext import many, plain

SHOWN_ROWS = 10  # rows of a table that are printed without --all
SHOWN_CAUSES = 8  # of each kind
SHOWN_NUMBERS = 6  # causes that one row names
LONGEST_VALUE = 60  # characters of a value that are printed
BEFORE_DIFFERENCE = 20  # of these, characters shown before two long values diverge

CSV_COLUMNS = (
    "table", "change", "key", "column", "before", "after", "difference", "causes",
)  # fmt: skip


@click.command()
@click.argument("before", metavar="A", shell_complete=completion.pins)
@click.argument("after", metavar="[B]", required=False, shell_complete=completion.pins)
@click.option(
    "--table",
    "tables",
    multiple=True,
    metavar="NAME",
    shell_complete=completion.tables,
    help="Compare only this table; may be repeated.",
)
@click.option("--attribute", is_flag=True, help="Recompute each cell with one change at a time.")
@click.option("--all", "everything", is_flag=True, help="Print every row, cause and attempt.")
@format_option("text", "json", "csv", help="How to print; JSON and CSV have every row.")
@results_option("Folder of the run's results, if no B is given.", exists=False)
@store_option()
def diff(
    before: str,
    after: str | None,
    tables: tuple[str, ...],
    attribute: bool,
    everything: bool,
    form: str,
    results: Path,
    store: Path,
) -> None:
    """Show which cells of the report tables differ between the runs A and B, and why.

    A run is a pin (`clipaudit pin`) or a results folder; without B, the current results. Causes are
    the first differences upstream: data, code, settings or environment. Numbers in brackets show
    which causes affect a row.

    \b
    Example:
      clipaudit pin before
      snakemake --profile profiles/local all_tables
      clipaudit diff before --attribute
    """
    from clipaudit.lineage.difference.comparison import compare_runs
    from clipaudit.lineage.earlier_tables import earlier, earlier_note
    from clipaudit.lineage.snapshots import folder_run, open_run
    from clipaudit.store.store import Store

    opened = Store(store)
    second = open_run(after, opened) if after else folder_run(results, opened)
    first = open_run(before, opened)
    found = compare_runs(first, second, named=tables, attributing=attribute)
    if form == "json":
        click.echo(json.dumps(plain_value(found), indent=1))
    elif form == "csv":
        click.echo(_csv(found), nl=False)
    else:
        for line in _lines(found, everything=everything):
            click.echo(line)
    for run in (first, second):
        if run.folder and (others := earlier(run.folder, run.tables())):
            click.echo(f"{plain(run.name)}: {earlier_note(others)}", err=True)


# --- text --------------------------------------------------------------------------------------


def _lines(found: Json, *, everything: bool) -> Iterator[str]:
    yield f"A: {plain(found['before'])}"
    yield f"B: {plain(found['after'])}"
    differing = len(found["tables"])
    yield f"{differing} of {differing + found['equal']} report tables differ"
    for side in ("before", "after"):
        for name in found[f"only_{side}"]:
            yield f"only in {'A' if side == 'before' else 'B'}: {plain(name)}"
    yield from _cause_lines(found["causes"], None if everything else SHOWN_CAUSES)
    for table in found["tables"]:
        yield ""
        yield from _table_lines(table, everything=everything)


def _cause_lines(causes: Sequence[Json], most: int | None) -> Iterator[str]:
    """Yield the causes by kind, so that many data files do not hide a setting."""
    for is_first, title in (
        (True, "causes, first upstream"),
        (False, "causes where the inputs already differ"),
    ):
        some = [cause for cause in causes if cause["first"] == is_first]
        if some:
            yield from ("", title)
        for kind, each in groupby(some, key=itemgetter("kind")):
            group = list(each)
            for cause in group[:most]:
                yield f"  [{cause['number']}] {_cause_text(cause)}"
                yield f"      {_reach_text(cause)}"
            if most is not None and len(group) > most:
                yield f"  ... and {len(group) - most} more of {kind} (--all)"


def _cause_text(cause: Json) -> str:
    kind = cause["kind"].upper() if cause["kind"] == "not reproduced" else cause["kind"]
    old, new = cause["before"], cause["after"]
    if old is None and new is None:
        return f"{kind}  {plain(cause['name'])}"
    is_content = cause["kind"] in {"data", "code", "not reproduced"}
    texts = (_digest(old), _digest(new)) if is_content else _pair(old, new)
    return f"{kind}  {plain(cause['name'])}: {' -> '.join(texts)}"


def _reach_text(cause: Json) -> str:
    where = f"in {', '.join(map(plain, cause['steps']))}; " if cause["steps"] else ""
    rows = f" and {many(cause['rows'], 'row')} added or removed" if cause["rows"] else ""
    tables, cells = many(cause["tables"], "table"), many(cause["cells"], "cell")
    return f"{where}reaches {cells}{rows} in {tables}"


def _table_lines(table: Json, *, everything: bool) -> Iterator[str]:
    numbers = _numbers(table["causes"])
    if "fault" in table:
        yield f"{plain(table['table'])}: differs, but its cells cannot be compared  {numbers}"
        yield f"  {plain(table['fault'])}"
        return
    rows = table["rows"]
    key = f" by {', '.join(map(plain, table['key']))}" if table["key"] else ""
    cells = many(sum(len(row["cells"]) for row in rows), "cell")
    yield f"{plain(table['table'])}{key}: {cells} in {many(len(rows), 'row')}  {numbers}"
    if table["rows_before"] != table["rows_after"]:
        yield f"  rows: {table['rows_before']} -> {table['rows_after']}"
    for side, columns in (("A", table["columns_removed"]), ("B", table["columns_added"])):
        if columns:
            yield f"  columns only in {side}: {', '.join(map(plain, columns))}"
    for column, (old, new) in table["types"].items():
        yield f"  column {plain(column)}: {old} -> {new}"
    if table["moved"]:
        yield "  rows are in a different order"
    for row in rows if everything else rows[:SHOWN_ROWS]:
        yield from _row_lines(row, everything=everything)
    if len(rows) > SHOWN_ROWS and not everything:
        yield f"  ... and {len(rows) - SHOWN_ROWS} more rows (--all)"
    yield from (f"  not attributed: {plain(fault)}" for fault in table.get("not_attributed", ()))


def _row_lines(row: Json, *, everything: bool) -> Iterator[str]:
    key = "  ".join(f"{plain(name)}={_text(value)}" for name, value in row["key"].items())
    only = "" if row["side"] == "both" else f"only in {row['side']}: "
    yield f"  {only}{key}  {_numbers(row['causes'])}"
    for cell in row["cells"]:
        old, new = _pair(cell["before"], cell["after"])
        yield f"    {plain(cell['column'])}  {old} -> {new}{_signed(cell['difference'])}"
        yield from _alone_lines(cell, everything=everything)


def _alone_lines(cell: Json, *, everything: bool) -> Iterator[str]:
    """Yield a cell's value with each single change, by default only changes that move it."""
    alone = cell.get("alone", {})
    shown = {name: value for name, value in alone.items() if everything or value != cell["before"]}
    for name, value in shown.items():
        yield f"      {_text(value)}  with only {plain(name)} from B"
    if alone and not shown:
        yield f"      as in A with any one of {many(len(alone), 'thing')} from B"
    left = cell.get("left_over")
    if left is not None and abs(left) > 1e-12 * abs(cell["difference"]):  # more than rounding
        yield f"      {left:+.4g}  left over: from several changes together"


def _pair(before: object, after: object) -> tuple[str, str]:
    """Return two different values as different texts; long ones start near the difference."""
    old, new = _whole(before), _whole(after)
    if old == new:
        old, new = _whole(before, digits=17), _whole(after, digits=17)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    start = same - BEFORE_DIFFERENCE if max(len(old), len(new)) > LONGEST_VALUE else 0
    return _cut(old, start), _cut(new, start)


def _text(value: object) -> str:
    return _cut(_whole(value), 0)


def _whole(value: object, digits: int = 6) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return f"{value:.{digits}g}" if isinstance(value, float) else plain(value)


def _cut(text: str, start: int) -> str:
    rest = text if start <= 0 else f"...{text[start:]}"
    return rest if len(rest) <= LONGEST_VALUE else f"{rest[: LONGEST_VALUE - 3]}..."


def _digest(value: str | None) -> str:
    return value[:12] if value else "nothing"


def _signed(difference: float | None) -> str:
    return "" if difference is None else f"  ({difference:+.4g})"


def _numbers(causes: Sequence[int]) -> str:
    shown = " ".join(map(str, causes[:SHOWN_NUMBERS]))
    more = f" and {len(causes) - SHOWN_NUMBERS} more" if len(causes) > SHOWN_NUMBERS else ""
    return f"[{shown}{more}]"


# --- JSON and CSV ------------------------------------------------------------------------------


def _csv(found: Json) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows(
        [csv_text(plain(each)) if isinstance(each, str) else each for each in values]
        for values in _csv_rows(found)
    )
    return text.getvalue()


def _csv_rows(found: Json) -> Iterator[Sequence[object]]:
    for side in ("before", "after"):
        for name in found[f"only_{side}"]:
            yield name, "table removed" if side == "before" else "table added", *[""] * 6
    for cause in found["causes"]:
        values = (cause["name"], cause["before"], cause["after"], "", cause["number"])
        yield "", "cause", cause["kind"], *values
    for table in found["tables"]:
        name = table["table"]
        if "fault" in table:
            yield name, "not compared", table["fault"], *[""] * 4, _listed(table["causes"])
        for side, word in (("removed", "column removed"), ("added", "column added")):
            for column in table.get(f"columns_{side}", ()):
                yield name, word, "", column, "", "", "", _listed(table["causes"])
        for row in table.get("rows", ()):
            yield from ((name, *values) for values in _csv_cells(row))


def _csv_cells(row: Json) -> Iterator[Sequence[object]]:
    key = json.dumps(plain_value(row["key"]), ensure_ascii=False)
    causes = _listed(row["causes"])
    if row["side"] != "both":
        yield "row removed" if row["side"] == "A" else "row added", key, *[""] * 4, causes
    for cell in row["cells"]:
        values = [_plain_value(cell[name]) for name in ("before", "after", "difference")]
        yield "cell", key, cell["column"], *values, causes
        for name, value in cell.get("alone", {}).items():
            alone = (values[0], _plain_value(value), "", causes)
            yield f"with {name} of B alone", key, cell["column"], *alone


def _plain_value(value: object) -> object:
    return value if isinstance(value, int | float | None) else str(plain_value(value))


def _listed(causes: Sequence[int]) -> str:
    return " ".join(map(str, causes))
