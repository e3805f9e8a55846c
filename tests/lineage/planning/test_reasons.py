from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.lineage.planning.reasons import changes
from clipaudit.store.actions import ActionInput, Ingredients
from clipaudit.store.code_records import CodeRecord

PLAIN = Ingredients(
    step="gap",
    code="c" * 64,
    settings={"recipe": {"epochs": 10, "seed": 0}},
    inputs={"base": [ActionInput("a" * 64, "results/base/00000.json", {"part": "00000"})]},
    environment={"torch": "2.14"},
)


def told(now, before=PLAIN, *, unknown=None, code_now=None, code_before=None):
    found = changes(now, unknown or {}, before, code_now=code_now or {}, code_before=code_before)
    return [str(reason) for reason in found]


def base(*files):
    return replace(PLAIN, inputs={"base": list(files)})


def test_equal_ingredients_have_no_reason():
    assert told(PLAIN) == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"recipe": {"epochs": 12, "seed": 0}}, "recipe.epochs 10 -> 12"),
        ({"recipe": {"epochs": 10}}, "recipe.seed removed: 0"),
        ({"recipe": {"epochs": 10, "seed": 0, "warm": True}}, "recipe.warm added: true"),
    ],
)
def test_a_changed_setting_is_named_with_both_values(settings, expected):
    assert told(replace(PLAIN, settings=settings)) == [expected]


def test_a_setting_of_a_list_is_named_by_its_place():
    before = replace(PLAIN, settings={"tasks": [{"k": 1}, {"k": 2}]})
    now = replace(PLAIN, settings={"tasks": [{"k": 1}, {"k": 3}]})

    assert told(now, before) == ["tasks[1].k 2 -> 3"]


def test_control_characters_in_a_setting_are_escaped():
    now = replace(PLAIN, settings={"recipe": {"epochs": 10, "seed": "\x1b[31m\n"}})

    assert told(now) == [r"recipe.seed 0 -> \x1b[31m\n"]


def test_a_changed_library_is_named_with_both_versions():
    now = replace(PLAIN, environment={"torch": "2.15", "pillow": "13"})

    assert told(now) == ["pillow none -> 13", "torch 2.14 -> 2.15"]


def test_changed_code_is_named_by_module():
    now = replace(PLAIN, code="d" * 64)
    old = CodeRecord({"module clipaudit.x": "1", "file x.sql": "2", "module clipaudit.y": "3"}, {})
    new = {"module clipaudit.x": "9", "file x.sql": "2", "module clipaudit.z": "4"}

    assert told(now, code_now=new, code_before=old) == [
        "module clipaudit.x changed",
        "module clipaudit.y removed",
        "module clipaudit.z added",
    ]


def test_code_that_was_not_recorded_by_module_says_so():
    expected = "code changed: code digest cccccccccccc -> dddddddddddd, the old one not recorded"

    (reason,) = told(replace(PLAIN, code="d" * 64))

    assert reason.startswith(expected)


def test_a_changed_input_is_named_with_both_digests():
    now = base(ActionInput("b" * 64, "results/base/00000.json", {"part": "00000"}))

    assert told(now) == [
        "input base changed: results/base/00000.json, aaaaaaaaaaaa -> bbbbbbbbbbbb"
    ]


def test_added_and_removed_inputs_are_named():
    now = base(ActionInput("b" * 64, "results/other.json"), *PLAIN.inputs["base"])

    assert told(now) == ["input base added: results/other.json"]
    assert told(PLAIN, now) == ["input base removed: results/other.json"]


def test_an_input_with_different_labels_is_named():
    now = base(ActionInput("a" * 64, "results/base/00000.json", {"part": "00001"}))

    assert told(now) == ["input base has different labels: results/base/00000.json"]


def test_a_different_results_folder_with_the_same_content_is_not_a_reason():
    now = base(ActionInput("a" * 64, "elsewhere/base/00000.json", {"part": "00000"}))

    assert told(now) == []


def test_an_input_that_is_computed_again_is_neither_removed_nor_changed():
    unknown = {"base": {"results/base/00000.json": "keep_all"}}

    assert told(base(), unknown=unknown) == [
        "input base is made again by keep_all: results/base/00000.json"
    ]


@given(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.booleans()))
def test_every_changed_setting_gives_a_reason(settings):
    before, now = replace(PLAIN, settings={"s": {}}), replace(PLAIN, settings={"s": settings})

    assert len(told(now, before)) == len(settings)


def test_a_remote_shard_that_was_never_read_is_reported_as_such():
    unknown = {"tars": {"s3://bucket/0.tar": ""}}

    assert "input tars is remote and was never read: s3://bucket/0.tar" in told(
        base(), unknown=unknown
    )
