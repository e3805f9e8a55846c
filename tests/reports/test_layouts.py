import pytest

from clipaudit.config.loading import parse_settings
from clipaudit.reports.layouts import Layout, count, interval, measured, number, percent
from clipaudit.similarity.reports.layouts import LAYOUTS
from clipaudit.similarity.reports.tables import similarity_tables
from clipaudit.steps.reportfiles import report_file

GRIDS = [name for name, layout in LAYOUTS.items() if isinstance(layout, Layout)]


@pytest.mark.parametrize("name", GRIDS)
def test_every_line_but_the_first_is_named(name):
    first, *others = LAYOUTS[name].lines

    assert first.name == ""
    assert all(line.name for line in others)


def test_every_table_has_its_sql_and_its_layout(settings):
    """With all sections on, exactly the tables with layouts are made."""
    evidence = {"pruning": "sketch", "reference": "val", "removed": 0.25}
    settings["similarity"] |= {"seeds": 2, "evidence": evidence}

    tables = similarity_tables(parse_settings(settings))

    assert all(report_file("sql", f"{table.sql}.sql").is_file() for table in tables.values())
    assert list(tables) == sorted(LAYOUTS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (count(0), "0"),
        (count(999), "999"),
        (count(12_352_759), "12\u202f352\u202f759"),
        (percent(1.0), "100.00"),
        (percent(-0.0004, digits=1, sign=True), "0.0"),
        (percent(0.0004, digits=1, sign=True), "0.0"),
        (percent(0.012, digits=1, sign=True), "+1.2"),
        (percent(None), ""),
        (number(-0.125, digits=2), "\u22120.12"),
        (number(None), ""),
        (interval(None, None), ""),
        (interval(-0.142, 0.03, sign=True), "[\u221214.2, +3.0]"),
    ],
)
def test_numbers_are_printed_as_in_the_papers(text, expected):
    assert text == expected


def test_a_difference_above_zero_is_not_printed_with_a_bound_of_zero():
    row = {"harm": 0.012, "harm_low": 0.0003, "harm_high": 0.0237}

    assert measured(row, "harm", sign=True) == "+1.20 [+0.03, +2.37]"
    assert measured({**row, "harm_low": 0.0}, "harm", sign=True) == "+1.2 [0.0, +2.4]"
