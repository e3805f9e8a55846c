"""Find the SQL that made a report table, as it was when it ran."""

from dataclasses import dataclass

from clipaudit.reports.wiring import table_files
from clipaudit.steps.reportfiles import report_file
from clipaudit.steps.workflow import code
from clipaudit.store.code_records import read_code
from clipaudit.store.records import Record
from clipaudit.store.store import Store

RECORDED = "recorded when it ran"
SAME_CODE = "from the installed clipaudit, whose code digest is the recorded one"
NOT_RECORDED = "from the installed clipaudit; the SQL that ran was not recorded"


@dataclass(frozen=True)
class TableSql:
    """The SQL of a table: its file's name, its text, and the text's origin (see above)."""

    name: str
    text: str
    origin: str

    @property
    def is_installed(self) -> bool:
        """Whether the installed clipaudit would run this text, ignoring comments and spacing."""
        return self.origin != RECORDED or _bare(self.text) == _bare(installed_sql(self.name) or "")


def table_sql(store: Store, record: Record) -> TableSql | None:
    """Return the SQL of an action that made a table; None if no SQL did, as for galleries.

    The text is the recorded one. Stores older than such records have none: then the text is from
    the installed package, and `origin` says whether all code of the step is still the same.
    """
    name = record.ingredients.settings.get("sql")
    if not isinstance(name, str):
        return None
    recorded = read_code(store, record.ingredients.code)
    if recorded is not None and f"{name}.sql" in recorded.texts:
        return TableSql(name, recorded.texts[f"{name}.sql"], RECORDED)
    text = installed_sql(name)
    if text is None:
        return None
    return TableSql(name, text, SAME_CODE if _is_unchanged(record) else NOT_RECORDED)


def installed_sql(name: str) -> str | None:
    """Return the text of one of the installed package's SQL files; None if it has no such file."""
    path = report_file("sql", f"{name}.sql")
    return path.read_text("utf-8") if path.is_file() else None


def _is_unchanged(record: Record) -> bool:
    """Return whether a step's code, its SQL and published numbers still match the record."""
    settings = record.ingredients.settings
    asked = table_files(settings["sql"], settings.get("table", ""))
    return code("report_table", *asked) == record.ingredients.code


def _bare(sql: str) -> str:
    lines = (line.partition("--")[0] for line in sql.splitlines())
    return " ".join(" ".join(lines).split())
