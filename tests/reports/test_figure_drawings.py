from importlib.resources import files

import pyarrow as pa
import pytest

from clipaudit.reports.drawing import figure_bytes
from clipaudit.reports.drawings import draw_figure

FORMS = files("clipaudit.reports.forms").iterdir()


@pytest.mark.parametrize("form", sorted(each.stem for each in FORMS if each.stem[0] != "_"))
def test_a_table_without_rows_is_drawn_as_a_note(form):
    table = pa.table({"value": pa.array([], pa.float64())})

    svg, png = figure_bytes(draw_figure(form, table, {"empty": "no images"}))

    assert b"no images" in svg
    assert png.startswith(b"\x89PNG")
