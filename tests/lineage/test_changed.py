import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.lineage.changed import changed_entries, changed_settings
from clipaudit.store.actions import Ingredients

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["1", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)
settings = st.dictionaries(st.sampled_from("ab"), json_values)


@given(settings, settings)
def test_settings_that_change_the_key_differ_by_name(before, after):
    keys = {Ingredients("step", "code", each, {}, {}).key() for each in (before, after)}

    assert bool(list(changed_settings(before, after))) == (len(keys) == 2)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": True}, ("a", "1", "true")),
        ({"a": "1"}, {"a": "one"}, ("a", "1", "one")),
        ({"a": {"b": 1}}, {"a": {"b": "1"}}, ("a.b", "1", '"1"')),
        ({}, {"a": None}, ("a", None, "null")),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, ("a.c", "2", None)),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}, {"b": 3}]}, ("a[1].b", "2", "3")),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1}, {"b": 2}]}, ("a", "1 item", '2 items, {"b": 2}')),
        ({"a": [1, 2]}, {"a": [1]}, ("a", "[1, 2]", "[1]")),
        ({"a": ("x", "y")}, {"a": ["x"]}, ("a", '["x", "y"]', '["x"]')),
    ],
)
def test_a_setting_is_reported_by_name_and_both_values(before, after, expected):
    assert list(changed_settings(before, after)) == [expected]


def test_a_tuple_equals_the_list_that_its_record_holds():
    assert list(changed_settings({"sets": ({"k": 1},)}, {"sets": [{"k": 1}]})) == []


def test_added_and_removed_entries_are_reported_in_order_of_name():
    found = list(changed_entries({"b": "1", "c": "1"}, {"c": "1", "a": "2"}))

    assert found == [("a", None, "2"), ("b", "1", None)]
