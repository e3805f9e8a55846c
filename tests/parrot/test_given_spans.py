import json
import textwrap

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from peakmemory import peak_memory_mb

from clipaudit.corpora.drops import Drops
from clipaudit.errors import InputError
from clipaudit.parrot import sorted_spans, spans_inside
from clipaudit.parrot.given_spans import NOT_GIVEN, _drop, take_spans
from clipaudit.parrot.sorted_spans import sort_spans
from clipaudit.parrot.spans import SPANS, Span, Word, spans_of
from clipaudit.parrot.spans_inside import OUTSIDE

BOX = [0, 0, 4, 2]
CORNERS = (0.0, 0.0, 4.0, 0.0, 4.0, 2.0, 0.0, 2.0)
SALE = {"text": "sale", "bbox": BOX}


@pytest.fixture
def samples():
    """Three samples with a key, a uid and a URL each."""
    return pa.table(
        {
            "shard": pa.array([0, 0, 1], pa.int32()),
            "row": pa.array([0, 2, 1], pa.int32()),
            "key": ["a", "b", "c"],
            "uid": ["0", "1", "2"],
            "width": pa.array([64, 64, 64], pa.int32()),
            "height": pa.array([32, 32, 32], pa.int32()),
            "metadata": [json.dumps({"url": f"https://{name}"}) for name in "xyz"],
        }
    )


@pytest.fixture
def given(tmp_path):
    """A function: a file of rows in the form that its name ends in."""

    def write(name, *rows):
        path = tmp_path / name
        if path.suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(list(rows)), path)
        elif path.suffix == ".jsonl":
            path.write_text("\n".join(map(json.dumps, rows)))
        else:
            path.write_text(json.dumps(rows))
        return path

    return write


def spans(samples, *files, column="key", join_on="key"):
    tables = list(sort_spans([samples], files, column=column, join_on=join_on))
    return pa.concat_tables([SPANS.empty_table(), *tables])


def texts(table):
    return [[span.text for span in found] for found in spans_of(table)]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "json"])
def test_one_row_per_image_gives_its_spans(samples, given, kind):
    word = {"text": "big", "polygon": [0, 0, 4, 0, 4, 2]}
    sale = {"text": "big sale", "polygon": [0, 0, 4, 0, 4, 2], "score": 0.5, "words": [word]}
    path = given(f"spans.{kind}", {"key": "c", "spans": [sale]}, {"key": "a", "spans": []})

    table = spans(samples, path)

    triangle = (0.0, 0.0, 4.0, 0.0, 4.0, 2.0)
    assert list(spans_of(table)) == [
        [],
        [Span("big sale", 0.5, triangle, (Word("big", triangle),))],
    ]
    assert table.schema == SPANS
    assert table["shard"].to_pylist() == [0, 1]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "json"])
def test_rows_of_single_spans_are_collected_per_image(samples, given, kind):
    rows = [
        {"key": "b", "text": "big", "bbox": BOX},
        {"key": "a", "text": None, "bbox": None, "score": 0.0, "words": []},
        {"key": "b", "text": "sale", "bbox": BOX},
        {"key": "elsewhere", "text": None, "bbox": BOX},
    ]

    assert texts(spans(samples, given(f"spans.{kind}", *rows))) == [[], ["big", "sale"]]


@pytest.mark.parametrize(
    ("join_on", "values"),
    [("key", ["b", "c"]), ("uid", [1, 2]), ("url", ["https://y", "https://z"])],
)
def test_spans_are_joined_in_any_order_by_key_uid_or_url(samples, given, join_on, values):
    one = given("one.parquet", {"of": values[1], **SALE})
    other = given("other.jsonl", {"of": values[0], "spans": [SALE, SALE | {"text": "now"}]})

    table = spans(samples, one, other, column="of", join_on=join_on)

    assert texts(table) == [["sale", "now"], ["sale"]]
    assert table["row"].to_pylist() == [2, 1]


def test_spans_of_all_files_count_and_equal_ones_only_once(samples, given):
    row = {"key": "a", "spans": [SALE, SALE | {"text": "now"}]}
    files = given("one.jsonl", row), given("other.jsonl", row, {"key": "a", "spans": [SALE]})

    assert texts(spans(samples, *files)) == [["sale", "now"]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"key": "a", "spans": [SALE | {"text": None}]}], r"key 'a': text is null"),
        ([{"key": "a", "spans": [SALE | {"bbox": None}]}], r"key 'a': bbox is null"),
        ([{"key": "a", "spans": [SALE | {"score": "high"}]}], r"key 'a': score is \"high\""),
        ([{"key": "a", "text": "b", "polygon": [0, 0, 4]}], r"3 coordinates, which is odd"),
        ([{"key": "a", "text": "b", "polygon": [0.0, None, 4.0, 4.0]}], r"polygon is \[0.0, null"),
        ([{"key": "a", "text": "b", "bbox": ["0", "0", "4", "2"]}], r'bbox is \["0"'),
        ([{"key": "a", "text": "b", "bbox": [0, float("nan"), 4, 2]}], r"bbox is \[0"),
        ([{"key": 0.5, "spans": []}], r"key is 0.5: give a text or a whole number"),
        ([{"name": "a", "spans": []}], r"no column 'key', but name, spans"),
        ([{"key": "a", "spans": "sale"}], r'spans is "sale": a row per image has `spans`'),
        ([{"key": "a", "label": 3}], r"key, label: a row per image has `spans`"),
        ([{"key": "z", "spans": []}], r"has the key of 0 of 3 samples, first 'a'"),
    ],
)
@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_an_invalid_span_gives_an_error_with_its_file_and_row(samples, given, kind, rows, message):
    with pytest.raises(InputError, match=rf"spans\.{kind}.*{message}"):
        spans(samples, given(f"spans.{kind}", *rows))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"key": "a", "spans": []}\n{"key', r"line 2: its JSON cannot be read"),
        (b"[1]", r"line 1: its JSON is \[1\]"),
        (b"[" * 100_000, r"line 1: its JSON cannot be read"),
        (b'{"key": "\xff", "spans": []}', r"line 1: key is "),
        (b'{"key": "\\ud800", "spans": []}', r"line 1: key is "),
        (b'{"key": "a", "spans": [{"text": "\xff", "bbox": [0, 0, 1, 1]}]}', r"'a': text is "),
    ],
)
def test_an_invalid_line_gives_an_error_with_its_position(samples, tmp_path, content, message):
    (tmp_path / "spans.jsonl").write_bytes(content)

    with pytest.raises(InputError, match=rf"spans\.jsonl.*{message}"):
        spans(samples, tmp_path / "spans.jsonl")


@pytest.mark.parametrize("name", ["spans.parquet", "spans.json"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"{}", b"[" * 100_000])
def test_a_damaged_file_is_refused_by_name(samples, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(InputError, match=name):
        spans(samples, tmp_path / name)


def test_a_join_without_a_match_shows_the_first_values_of_both_sides(samples, given):
    path = given("spans.jsonl", {"key": None, "spans": []}, {"key": "z.jpg", "spans": []})

    with pytest.raises(
        InputError, match=r"samples, first 'a'.*: the first of their 1 values is 'z"
    ):
        spans(samples, path)


def test_a_text_of_bytes_is_refused(samples, given):
    path = given("spans.parquet", {"key": "a", "text": b"sale", "bbox": BOX})

    with pytest.raises(InputError, match="text is"):
        spans(samples, path)


def test_rows_in_many_batches_give_the_same_result(samples, given, monkeypatch):
    rows = [{"key": "abc"[at % 3], "text": str(at), "bbox": BOX} for at in range(9)]
    files = given("spans.parquet", *rows), given("spans.jsonl", *reversed(rows))
    plain = spans(samples, *files)

    monkeypatch.setattr(sorted_spans, "_ROWS_AT_ONCE", 2)

    assert spans(samples, *files).equals(plain)
    assert texts(plain) == [["0", "3", "6"], ["1", "4", "7"], ["2", "5", "8"]]


def taken(samples, table, *, absent="unread", may_lack=0.0):
    drops = Drops("spot")
    found = take_spans(samples, table, absent=absent, may_lack=may_lack, drops=drops)
    return found, drops.table().to_pylist()


def test_an_image_without_a_row_is_refused_with_the_next_step(samples, given):
    table = spans(samples, given("spans.jsonl", {"key": "b", "spans": [SALE]}))

    with pytest.raises(InputError, match=r"2 of 3 .*shard 0, row 0, key 'a'.*`absent: no text`"):
        taken(samples, table, may_lack=0.5)


def test_an_image_without_a_row_is_dropped_as_unread_if_allowed(samples, given):
    table = spans(samples, given("spans.jsonl", {"key": "b", "spans": [SALE]}))

    found, drops = taken(samples, table, may_lack=0.7)

    assert found["row"].to_pylist() == [2]
    assert [(each["key"], each["reason"]) for each in drops] == [
        ("a", NOT_GIVEN),
        ("c", NOT_GIVEN),
    ]


@pytest.mark.parametrize(("images", "lost", "share"), [(100, 29, 0.29), (100, 57, 0.57)])
def test_exactly_the_allowed_share_of_images_may_have_no_row(images, lost, share):
    rows = pa.table({"shard": [0] * images, "row": range(images), "key": ["k"] * images})
    drops = Drops("spot")

    _drop(rows.slice(0, lost), images, share, drops)
    with pytest.raises(InputError, match=f"{lost + 1} of {images} images have no row"):
        _drop(rows.slice(0, lost + 1), images, share, drops)
    assert len(drops) == lost


def test_an_image_without_a_row_has_no_text_if_the_settings_say_so(samples, given):
    table = spans(samples, given("spans.jsonl", {"key": "b", "spans": [SALE]}))

    found, drops = taken(samples, table, absent="no text")

    assert texts(found) == [[], ["sale"], []]
    assert (found.schema, drops) == (SPANS, [])


OUTSIDE_BOXES = [[500, 500, 40, 10], [65, 0, 9, 9], [0, 33, 9, 9], [-20, 0, 9, 9]]


@pytest.mark.parametrize("box", OUTSIDE_BOXES)
def test_spans_outside_their_images_are_refused_with_the_size_of_the_first(samples, given, box):
    rows = [{"key": "a", "spans": [SALE]}, {"key": "b", "spans": [SALE, SALE | {"bbox": box}]}]
    table = spans(samples, given("spans.jsonl", *rows))

    message = r"1 of 2 .*shard 0, row 2, key 'b': 'sale' at \[.* of 64 x 32 pixels.*docs/imports"
    with pytest.raises(InputError, match=message):
        taken(samples, table, may_lack=0.5)


@pytest.mark.parametrize("box", [[60, 30, 90, 90], [-5, -5, 6, 6], [0, 0, 64, 32]])
def test_a_span_partly_in_its_image_is_kept(samples, given, box):
    table = spans(samples, given("spans.jsonl", {"key": "b", "spans": [SALE | {"bbox": box}]}))

    assert texts(taken(samples, table, absent="no text")[0]) == [[], ["sale"], []]


def test_a_stray_span_outside_drops_its_image(samples, given, monkeypatch):
    monkeypatch.setattr(spans_inside, "MAY_BE_OUTSIDE", 0.5)
    rows = [{"key": "a", "spans": [SALE]}, {"key": "b", "spans": [SALE | {"bbox": [500, 0, 1, 1]}]}]

    found, drops = taken(samples, spans(samples, given("spans.jsonl", *rows)), absent="no text")

    assert texts(found) == [["sale"], []]
    assert [(each["key"], each["reason"]) for each in drops] == [("b", OUTSIDE)]


def test_a_part_without_samples_has_no_spans(samples):
    assert len(taken(samples.slice(0, 0), SPANS.empty_table())[0]) == 0


SORT = textwrap.dedent(
    """
    import json
    import sys
    from pathlib import Path

    import numpy as np
    import pyarrow as pa

    from clipaudit.corpora import sorted_rows
    from clipaudit.parrot.sorted_spans import sort_spans

    sorted_rows._DUCKDB["memory_limit"] = "64MiB"
    sorted_rows.LEAST_ROWS = 5_000
    files, folder, rows = int(sys.argv[1]), Path(sys.argv[2]), 2_500
    span = json.dumps({"text": "sale " * 100, "bbox": [0, 0, 4, 2]})
    for number in range(files):
        lines = (f'{{"key": "{number}-{row}", "spans": [{span}]}}\\n' for row in range(rows))
        (folder / f"{number}.jsonl").write_text("".join(lines))
    parts = (
        pa.table({
            "shard": np.full(rows, shard, np.int32),
            "row": np.arange(rows, dtype=np.int32),
            "key": [f"{shard}-{row}" for row in range(rows)],
        })
        for shard in range(files)
    )
    paths = [folder / f"{number}.jsonl" for number in reversed(range(files))]
    assert sum(map(len, sort_spans(parts, paths, column="key", join_on="key"))) == files * rows
    """
)


def test_more_files_of_spans_need_no_more_memory(tmp_path):
    few, many = (peak_memory_mb(SORT, files, tmp_path) for files in (8, 32))

    assert many - few < 20  # of 32 MB more that are read
