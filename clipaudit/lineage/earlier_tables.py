"""Name report tables and figures that the last whole run did not make."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from clipaudit.catalog.views import CATALOG, open_catalog
from clipaudit.plaintext import plain


def earlier(results: Path, placed: Mapping[str, str]) -> list[str]:
    """Return the names of the tables that the last whole run did not make, or made otherwise.

    `placed` maps paths below the results (with any ending) to actions; files that are no report
    tables are ignored. Each whole run makes the catalog, which has its tables, and the report,
    which has a page for each figure. So earlier settings made the others, or a later run of single
    tables. Return none without a catalog, and no figure without a report.
    """
    if not (results / CATALOG).is_file():
        return []
    with open_catalog(results) as connection:
        known = set(connection.execute("select view, action from files").fetchall())
    report = results / "report"
    others = []
    for path, action in placed.items():
        name = Path(path)
        is_made = {
            "tables": (name.stem, action) in known,
            "figures": (report / name).with_suffix(".html").is_file() or not report.is_dir(),
        }
        if not is_made.get(name.parts[0], True):
            others.append(name.stem)
    return others


def earlier_note(names: Sequence[str]) -> str:
    """Return the sentence that names such tables."""
    return (
        "Not in the catalog or the report of the last whole run, so perhaps of earlier settings: "
        f"{plain(', '.join(names))}."
    )
