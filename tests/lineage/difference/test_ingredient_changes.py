from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from clipaudit.lineage.difference.ingredient_changes import (
    Cause,
    match_files,
    own_causes,
    unnamed_cause,
)
from clipaudit.store.actions import ActionInput, Ingredients
from clipaudit.store.store import Store

PLAIN = Ingredients("step", "code", {}, {}, {})
STORES = (Store(Path("no store")), Store(Path("no store")))


def test_a_different_step_at_the_same_place_is_a_settings_cause():
    (cause,) = own_causes(PLAIN, replace(PLAIN, step="other"), STORES)

    assert cause == Cause("settings", "step", "step", "other")


def file(path, action="made", **labels):
    return path, ActionInput("digest", path, labels, action)


def names(pairs):
    return [(old and old[0], new and new[0]) for old, new in pairs]


def test_files_are_matched_by_path_then_labels_then_name():
    before = [file("x/a"), file("x/old", part="1"), file("in/shard.tar", None), file("x/gone")]
    after = [file("x/new"), file("out/shard.tar", None), file("y/now", part="1"), file("x/a")]

    assert names(match_files(before, after)) == [
        (None, "x/new"),
        ("in/shard.tar", "out/shard.tar"),
        ("x/old", "y/now"),
        ("x/a", "x/a"),
        ("x/gone", None),
    ]


def test_labels_shared_by_several_files_match_none():
    before = [file("x/1", kind="a"), file("x/2", kind="a")]
    after = [file("y/1", kind="a"), file("y/2", kind="a")]

    assert names(match_files(before, after)) == [
        (None, "y/1"),
        (None, "y/2"),
        ("x/1", None),
        ("x/2", None),
    ]


def test_files_with_the_same_path_are_matched_in_order():
    pairs = names(match_files([file("a"), file("a")], [file("a"), file("a"), file("a")]))

    assert pairs == [("a", "a"), ("a", "a"), (None, "a")]


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_each_file_is_matched_once(old, new):
    pairs = names(match_files([file(name) for name in old], [file(name) for name in new]))

    assert sorted(one for one, _ in pairs if one) == sorted(old)
    assert [other for _, other in pairs if other] == new


def test_inputs_that_differ_only_in_labels_are_reported():
    before = replace(PLAIN, inputs={"x": [file("a", part="1")[1]]})
    after = replace(PLAIN, inputs={"x": [file("a", part="2")[1]]})

    cause = unnamed_cause(before, after)

    assert (cause.kind, cause.name) == ("settings", "labels of input x")


def test_a_changed_order_of_inputs_is_reported():
    files = [file("a")[1], replace(file("b")[1], digest="other")]
    before, after = (replace(PLAIN, inputs={"x": each}) for each in (files, files[::-1]))

    assert unnamed_cause(before, after).name == "order of inputs of step step"
