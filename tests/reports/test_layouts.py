from importlib.resources import files

import pytest

from clipaudit.reports.layouts import LAYOUTS, count, interval, percent


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_line_but_the_first_is_named(name):
    first, *others = LAYOUTS[name].lines

    assert first.name == ""
    assert all(line.name for line in others)


def test_every_sql_file_has_a_layout_and_every_layout_one():
    folder = files("clipaudit.reports").joinpath("sql")

    assert {path.name.removesuffix(".sql") for path in folder.iterdir()} == set(LAYOUTS)


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
        (interval(None, None), ""),
        (interval(-0.142, 0.03, sign=True), "[\u221214.2, +3.0]"),
    ],
)
def test_numbers_read_as_in_the_papers(text, expected):
    assert text == expected
