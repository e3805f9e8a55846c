import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.errors import InputError
from clipaudit.parrot.checked_text import CHECKED_TEXT, checked_text

PARTS = [
    pa.table({"shard": [0, 0], "row": [0, 3], "key": ["a", "b"], "uid": ["1" * 32, "2" * 32]}),
    pa.table({"shard": [4, 4], "row": [0, 1], "key": ["a", "c"], "uid": ["3" * 32, "2" * 32]}),
]


@pytest.fixture
def checked(tmp_path):
    """A function: what a CSV of some lines says of the images of PARTS."""

    def read(*lines):
        path = tmp_path / "seen.csv"
        path.write_text("\n".join(lines) + "\n")
        return checked_text(PARTS, path)

    return read


def test_answers_are_matched_to_images_by_uid_or_key(checked):
    by_uid = checked("uid,has_text,note", f"{'3' * 32},no,", f"{'2' * 32},Yes,a sign")
    by_key = checked("key,has_text", "c,1", "b,0")

    assert by_uid.schema == CHECKED_TEXT
    # the first of two equal images
    assert by_uid.to_pylist() == [
        {"shard": 0, "row": 3, "has_text": True},
        {"shard": 4, "row": 0, "has_text": False},
    ]
    assert [row["has_text"] for row in by_key.to_pylist()] == [False, True]


def test_json_and_parquet_give_the_same_result_as_csv(checked, tmp_path):
    rows = [{"key": "b", "has_text": True}, {"key": "c", "has_text": False}]
    (tmp_path / "seen.json").write_text(json.dumps(rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "seen.parquet")

    for name in ("seen.json", "seen.parquet"):
        assert checked_text(PARTS, tmp_path / name) == checked("key,has_text", "b,yes", "c,no")


def test_a_csv_field_may_hold_line_breaks_and_line_separators(checked):
    found = checked("key,note,has_text", 'b,"a sign,\nand a poster",yes', "c,a\u2028b,no")

    assert [row["has_text"] for row in found.to_pylist()] == [True, False]


def test_a_float_column_with_gaps_gives_answers_and_unchecked_images(checked, tmp_path):
    rows = {"uid": ["1" * 32, "2" * 32, "3" * 32], "has_text": [1.0, math.nan, 0.0]}
    pq.write_table(pa.table(rows), tmp_path / "seen.parquet")

    found = checked_text(PARTS, tmp_path / "seen.parquet")

    lines = [f"{'1' * 32},1.0", f"{'2' * 32},", f"{'3' * 32},0.0"]
    assert [row["has_text"] for row in found.to_pylist()] == [True, False]
    assert checked("uid,has_text", *lines) == found


def test_images_without_an_answer_are_not_checked(checked):
    assert len(checked("uid,has_text", f"{'1' * 32},")) == 0
    assert len(checked("uid,has_text")) == 0


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["uid,has_text", "x,no"], "1 of 1 values of uid match no image .* first 'x'"),
        (["key,has_text", "b,maybe"], "key 'b': has_text is 'maybe'; write yes or no"),
        (["key,has_text", "b,yes", "b,no"], "key 'b' is answered yes and no"),
        (["key,has_text", "a,yes"], r"images at .* \(0, 0\) and \(4, 0\) share the key 'a'"),
        (["name,has_text", "a,yes"], "row 1 has name, has_text, but uid or key"),
        (["key,text", "a,yes"], "row 1 has key, text, but uid or key, and has_text"),
    ],
)
def test_a_row_that_does_not_match_gives_one_message(checked, lines, message):
    with pytest.raises(InputError, match=rf"seen\.csv: .*{message}"):
        checked(*lines)


def test_rows_that_mix_uids_and_keys_are_refused(tmp_path):
    rows = [{"uid": "1" * 32, "has_text": "yes"}, {"key": "b", "has_text": "no"}]
    (tmp_path / "seen.json").write_text(json.dumps(rows))

    with pytest.raises(InputError, match="row 2 names its image by key, and rows before it by uid"):
        checked_text(PARTS, tmp_path / "seen.json")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{", b'{"key": "b"}', b"[1]"])
def test_json_that_is_not_a_list_of_objects_gives_one_message(tmp_path, content):
    path = tmp_path / "seen.json"
    path.write_bytes(content)

    with pytest.raises(InputError, match=r"seen\.json: (cannot be read|is not a list of objects)"):
        checked_text(PARTS, path)


def test_a_damaged_parquet_gives_one_message(tmp_path):
    (tmp_path / "seen.parquet").write_bytes(b"PAR1")

    with pytest.raises(InputError, match="cannot be read as Parquet"):
        checked_text(PARTS, tmp_path / "seen.parquet")
