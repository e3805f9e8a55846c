import pyarrow as pa
import pytest

from clipaudit.embeddings.encoder_check import ENCODER_CHECK
from clipaudit.reports.layouts import MISSING
from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import published_values, report_table
from clipaudit.similarity.reports.layouts import LAYOUTS


def checked(encoder, corpus, **numbers):
    nothing = {"samples": 5, "repeated": 0, "identical": 0, "dimension": 4, "collapsed": False}
    return {
        **dict.fromkeys(ENCODER_CHECK.names),
        **nothing,
        "encoder": encoder,
        "corpus": corpus,
    } | numbers


def test_each_encoder_and_test_set_has_a_row_in_order():
    encoders = [("first", "B/16"), ("second", "L/14")]
    rows = [checked(name, corpus) for corpus in ("val", "other", "sketch") for name, _ in encoders]
    rows[0] |= {"random_mean": 0.99951, "effective_rank": 1.25, "collapsed": True}
    schema = pa.schema([*ENCODER_CHECK, ("encoder", pa.string()), ("corpus", pa.string())])
    views = {
        "encoders": pa.table(
            {"position": [0, 1], "encoder": ["first", "second"], "title": ["B/16", "L/14"]}
        ),
        "testsets": pa.table(
            {"position": [0, 1], "testset": ["sketch", "val"], "title": ["Sketch", "Val"]}
        ),
        "encoder_checks": pa.Table.from_pylist(rows, schema),
        "published": published_values("similarity_encoders"),
    }

    table = report_table("similarity_encoders", views, {})

    found = [(row["encoder"], row["testset"], row["collapsed"]) for row in table.to_pylist()]
    assert found == [
        *(("first", "sketch", False), ("first", "val", True)),
        *(("second", "sketch", False), ("second", "val", False)),
    ]
    lines = to_markdown("similarity_encoders", table).splitlines()
    assert [cell.strip() for cell in lines[5].split("|")[1:-1]] == [
        *("B/16", "Val", "5", "0.9995", MISSING, MISSING, MISSING, "1.2", "4", "no"),
    ]


@pytest.mark.parametrize(("samples", "said"), [(0, "not judged"), (9, "not judged"), (10, "yes")])
def test_an_encoder_is_not_said_to_distinguish_too_few_images(samples, said):
    row = checked("first", "val", samples=samples)

    assert LAYOUTS["similarity_encoders"].fields["Distinguishes"](row) == said
