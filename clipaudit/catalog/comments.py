"""What the columns of report tables mean: the comments behind the columns of their SQL."""

import re

from clipaudit.steps.reportfiles import report_file

# a column of a select, as the house writes one: an expression, perhaps its name, a comma, a comment
_COLUMN = re.compile(r"^ +(?:.*\bas )?(?:\w+\.)?(\w+), -- (.+)$")


def column_comments(table: str) -> dict[str, str]:
    """Return the comments of the last select of a report table's SQL, by column.

    Columns whose names say all have none; neither has a table whose SQL bears another name.

    >>> column_comments("parrot_table1")["unit"]
    'count; share: between 0 and 1'
    >>> column_comments("no_such_table")
    {}
    """
    path = report_file("sql", f"{table}.sql")
    if not path.is_file():
        return {}
    _, _, last = path.read_text("utf-8").rpartition("\nselect\n")
    found = (_COLUMN.match(line) for line in last.splitlines())
    return {match[1]: match[2] for match in found if match}
