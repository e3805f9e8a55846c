import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.errors import InputError
from clipaudit.reports.layouts import Layout, Line, Listing, cell, percent
from clipaudit.site.asked_cells import asked_cell

LAYOUT = Layout(
    caption="",
    corner="Statistic",
    row="measure_title",
    column="corpus",
    lines=(Line("", cell(percent, "value")),),
)
LISTING = Listing(
    caption="", corner="Model", name=lambda row: row["model"], fields={"Acc.": cell(str, "right")}
)


def row(position, title, corpus, value, **more):
    titles = {"measure_title": title, "corpus": corpus, "corpus_title": corpus.title()}
    return {"position": position, **titles, "value": value, **more}


@pytest.fixture
def table(tmp_path):
    def written(*rows):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
        return tmp_path / "t.parquet"

    return written


@pytest.fixture
def rates(table):
    return table(
        row(0, "CoTR, %", "web", 0.5),
        row(0, "CoTR, %", "it's", 0.25, indent=True),
        row(1, "Images", "web", 7.0),
    )


def test_a_cell_of_a_layout_is_addressed_by_row_and_column(rates):
    where = "measure_title = 'CoTR, %' and corpus = 'it''s'"

    assert asked_cell(rates, LAYOUT, "CoTR, %", "It'S") == (where, "value")


def test_a_cell_of_a_listing_is_addressed_by_row_and_heading(table):
    models = table({"model": "a", "right": 3}, {"model": "b", "right": 3})

    assert asked_cell(models, LISTING, "b", "Acc.") == ("model = 'b'", "right")


def test_a_name_shared_by_several_rows_is_refused(table):
    twice = table(row(0, "Images", "web", 1.0), row(1, "Images", "web", 2.0), row(2, "x", "b", 1.0))

    with pytest.raises(InputError, match=r"2 rows are called 'Images'\. Select one with --where"):
        asked_cell(twice, LAYOUT, "Images", "Web")


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("CoTR", "Web", r"no row is called 'CoTR'\. Did you mean CoTR, %\?"),
        ("CoTR, %", "Wbe", r"no column is called 'Wbe'\. Did you mean Web"),
        ("Images", "It'S", r"cell of row 'Images' and column \"It'S\" is empty\."),
    ],
)
def test_a_missing_cell_gives_an_error_with_the_printed_names(rates, name, column, message):
    with pytest.raises(InputError, match=message):
        asked_cell(rates, LAYOUT, name, column)


def test_a_column_named_by_an_sql_keyword_is_quoted(table):
    listing = Listing("", "Model", lambda row: row["end"], {"Acc.": cell(str, "right")})
    models = table({"end": "a", "right": 3}, {"end": "b", "right": 4})

    assert asked_cell(models, listing, "b", "Acc.") == ("\"end\" = 'b'", "right")
