"""The numbers in a report's HTML match the run's tables."""

import numbers

import pyarrow.parquet as pq
import pytest
from reportnumbers import Page, is_shown, written_numbers


@pytest.fixture(scope="session", params=["similarity and memorization", "copies"])
def report(request, made_once):
    """Return a run with its report; for reading only."""
    if request.param == "copies":
        return request.getfixturevalue("copied")
    finished = request.getfixturevalue("finished")
    return made_once("reported", start=finished, target="report")


def rows(report, name):
    return pq.read_table(report.results / "tables" / f"{name}.parquet").to_pylist()


def values(row, columns=None):
    """Return the numbers in a row, or in some of its columns."""
    found = row.values() if columns is None else (row[name] for name in columns)
    return [each for each in found if isinstance(each, numbers.Real) and not isinstance(each, bool)]


def pages(report):
    found = sorted((report.results / "report" / "tables").glob("*.html"))
    assert found
    return [(path.stem, Page(path.read_text())) for path in found]


def test_every_printed_cell_is_its_rounded_columns(report):
    wrong, checked = [], 0
    for name, page in pages(report):
        stored = rows(report, name)
        columns = list(stored[0]) if stored else []
        for cell in page.cells:
            read = [columns[place] for place in cell.columns]
            own = values(stored[cell.row], read)
            own += [a - b for a in own for b in own]  # such as all records minus one source
            texts = " ".join(str(stored[cell.row][column]) for column in read)
            told = [each for each in written_numbers(cell.text) if each.lstrip("+-") not in texts]
            checked += len(told)
            wrong += [(name, cell, each) for each in told if not is_shown(each, own)]

    assert wrong == []
    assert checked > 0


def test_every_cell_sorts_by_a_value_of_its_row(report):
    wrong = [
        (name, cell)
        for name, page in pages(report)
        for cell in page.cells
        if cell.value is not None
        and abs(cell.value) not in map(abs, values(rows(report, name)[cell.row]))
    ]

    assert wrong == []


def test_every_number_on_the_first_page_is_in_the_table_that_it_names(report):
    page = Page((report.results / "report" / "index.html").read_text())
    wrong, checked = [], 0
    for said in page.said:
        for name in said.tables:
            stored = rows(report, name)
            known = [value for row in stored for value in values(row)]
            decimals = [each for each in written_numbers(said.text) if "." in each]
            checked += len(decimals)
            wrong += [(name, each, said.text) for each in decimals if not is_shown(each, known)]

    assert wrong == []
    assert checked > 0
