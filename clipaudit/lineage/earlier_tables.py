"""Name report tables and figures that the last whole run did not make."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from clipaudit.catalog.views import CATALOG, open_catalog
from clipaudit.plaintext import plain


def earlier(results: Path, paths: Iterable[str]) -> list[str]:
    """Return the names of the tables that the last whole run did not make, in the given order.

    `paths` of tables are below the results, with any ending; other files are ignored. Each whole
    run makes the catalog, which has its tables, and the report, which has a page for each figure.
    So earlier settings made the others, or a later run of single tables. Return none without a
    catalog, and no figure without a report.
    """
    if not (results / CATALOG).is_file():
        return []
    with open_catalog(results) as connection:
        known = {name for (name,) in connection.execute("select view from files").fetchall()}
    report = results / "report"
    others = []
    for name in map(Path, paths):
        match name.parts[0]:
            case "tables":
                is_made = name.stem in known
            case "figures":
                is_made = (report / name).with_suffix(".html").is_file() or not report.is_dir()
            case _:
                continue
        if not is_made:
            others.append(name.stem)
    return others


def earlier_note(names: Sequence[str]) -> str:
    """Return the sentence that names such tables."""
    return (
        "Not in the catalog or the report of the last whole run, so perhaps of earlier settings: "
        f"{plain(', '.join(names))}."
    )
