import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clipaudit.corpora.drops import DROPS
from clipaudit.corpora.samples import SAMPLES
from clipaudit.corpora.splits import select_embeddings, select_rows, select_samples
from clipaudit.errors import ConfigError, InputError


def samples(*metadata):
    """Return one sample for each JSON value; a text is used unchanged."""
    texts = [
        each if each is None or isinstance(each, str) else json.dumps(each) for each in metadata
    ]
    rows = [
        {
            "shard": number // 3, "row": number % 3, "key": f"k{number}", "uid": f"{number:032x}",
            "caption": None, "label": 7, "image_sha256": "", "image_format": "png",
            "width": 10 + number, "height": 10, "image_bytes": 1, "metadata": text,
        }
        for number, text in enumerate(texts)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=SAMPLES)


def chosen(table, where, label=None):
    return select_samples(table, name="mine", where=where, label=label)


def test_a_predicate_can_use_the_metadata():
    table = samples({"Eyeglasses": 1}, {"Eyeglasses": -1}, {"Hat": 1}, None, {"Eyeglasses": "1"})

    split = chosen(table, "metadata->>'Eyeglasses' = '1'")

    assert split.schema == SAMPLES
    assert split["key"].to_pylist() == ["k0", "k4"]


def test_a_predicate_can_use_columns():
    assert chosen(samples(None, None, None), "width > 11 -- wide ones")["row"].to_pylist() == [2]


def test_an_expression_gives_the_labels():
    table = samples({"Male": 1}, {"Male": -1}, {"Male": 1})

    split = chosen(table, "true", "case when metadata->>'Male' = '1' then 1 else 0 end")

    assert split["label"].to_pylist() == [1, 0, 1]
    assert split.schema == SAMPLES


@settings(max_examples=30)
@given(st.lists(st.integers(0, 3) | st.none(), max_size=8))
def test_complementary_predicates_divide_the_samples_that_have_a_value(values):
    table = samples(*[{"x": value} if value is not None else None for value in values])

    low = chosen(table, "(metadata->>'x')::int < 2")["key"].to_pylist()
    high = chosen(table, "(metadata->>'x')::int >= 2")["key"].to_pylist()

    known = [f"k{number}" for number, value in enumerate(values) if value is not None]
    assert sorted(low + high) == known


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("eyeglasses = 1", r"split mine: `where: eyeglasses = 1` is not understood: .*eyeglasses"),
        ("metadata->>'x' =", "It may use the columns of a sample: shard, row, key"),
        ("width", "gives values of type int32, but booleans are needed"),
        ("true) from samples; drop table samples; select (1", "2 statements|3 statements"),
        ("exists (from read_text('/etc/hostname'))", "disabled by configuration"),
        ("metadata::int > 1", "is not understood"),
    ],
)  # fmt: skip
def test_a_wrong_predicate_is_one_clear_error(where, message):
    with pytest.raises(ConfigError, match=message):
        chosen(samples({"x": 1}), where)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("max(label) = 7", "aggregates"),
        ("geomean(label) = 7", "aggregates"),
        ("row_number() over (order by shard, row) <= 2", "window functions"),
        ("unnest([true, false])", "UNNEST"),
        ("label = (select max(label) from samples)", "subquery"),
        ("random() < 0.5", "volatile function"),
        ("true) or (random() < 0.5", "volatile function"),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_an_expression_that_reads_more_than_one_sample_is_refused(count, expression, reason):
    table = samples(*[None] * count)

    with pytest.raises(ConfigError, match=rf"split mine: `where: .* must read one .*{reason}"):
        chosen(table, expression)
    with pytest.raises(ConfigError, match=r"split mine: `label: .* must read one sample"):
        chosen(table, "true", f"case when ({expression}) then 1 else 0 end")


def test_an_expression_of_several_columns_is_refused():
    with pytest.raises(ConfigError, match=r"gives 2 columns of 3 values, but one column of 3"):
        chosen(samples(None, None, None), "columns('width|height') > 11")


@pytest.mark.parametrize("value", ["null", "-1", "2147483648", "12345678901"])
def test_a_sample_without_a_label_in_range_is_named(value):
    found = rf"split mine: 1 samples .* 0 to 2147483647, .* shard 0, row 1, .* is (None|{value})\."

    with pytest.raises(InputError, match=found):
        chosen(samples('{"y": 1}', f'{{"y": {value}}}'), "true", "(metadata->>'y')::bigint")


def test_a_label_can_be_the_largest_of_its_column():
    split = chosen(samples(None), "true", "2147483647::ubigint")

    assert split["label"].to_pylist() == [2147483647]


def test_a_label_must_be_a_whole_number():
    with pytest.raises(ConfigError, match=r"label: 1\.5` gives values of type .* integers"):
        chosen(samples(None), "true", "1.5")


@pytest.mark.parametrize("rows", [1, 2, 10])
def test_embeddings_of_a_split_keep_their_order_in_any_batches(rows):
    table = pa.table(
        {
            "shard": pa.array([0, 0, 0, 1, 1], pa.int32()),
            "row": pa.array([0, 1, 2, 0, 1], pa.int32()),
            "embedding": pa.array([bytes([n, 0]) for n in range(5)], pa.binary(2)),
        }
    )
    split = samples(*[None] * 5).take([1, 3, 4])

    found = pa.concat_tables(select_embeddings(table.to_batches(rows), split))

    assert found.to_pylist() == table.take([1, 3, 4]).to_pylist()


def test_drops_of_a_split_are_those_of_its_samples():
    drops = pa.Table.from_pylist(
        [{"shard": 0, "row": row, "key": "", "stage": "embed", "reason": "x", "detail": ""}
         for row in (0, 2)],
        schema=DROPS,
    )  # fmt: skip

    assert select_rows(drops, samples(None, None)).to_pylist() == drops.slice(0, 1).to_pylist()
