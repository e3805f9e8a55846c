from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.lineage.planning.forecasts import Precedents
from clipaudit.store.actions import ActionInput, Ingredients

FIRST = ActionInput("a", "x", {"part": "0", "corpus": "large"})
SECOND = ActionInput("b", "y", {"part": "1", "corpus": "large"})
RECORDED = Ingredients("merge", "c", {"k": 1}, {"parts": [FIRST, SECOND]}, {"torch": "2"})
PART_1 = {("parts", 1): {"part": "1"}}


def agree(partial=RECORDED, parts=(FIRST, None), labels=PART_1, recorded=(RECORDED,)):
    return Precedents(recorded).agree(partial, {"parts": list(parts)}, labels)


def test_an_action_that_read_the_known_inputs_agrees():
    assert agree()


def test_nothing_agrees_without_a_recorded_action():
    assert not agree(recorded=())


@pytest.mark.parametrize(
    "other",
    [{"step": "x"}, {"code": "x"}, {"settings": {"k": 2}}, {"environment": {}}],
    ids=lambda other: next(iter(other)),
)
def test_no_action_of_another_kind_agrees(other):
    assert not agree(partial=replace(RECORDED, **other))


def test_no_action_that_read_different_content_agrees():
    assert not agree(parts=(replace(FIRST, digest="z"), None))


def test_no_action_that_read_more_or_fewer_files_agrees():
    assert not agree(parts=(FIRST, None, None))


def test_no_action_whose_file_has_a_different_label_agrees():
    assert not agree(labels={("parts", 1): {"part": "2"}})


def test_labels_do_not_matter_to_a_step_that_does_not_read_them():
    recorded = replace(RECORDED, reads_labels=False)
    renamed = replace(FIRST, labels={})

    assert agree(
        partial=recorded,
        parts=(renamed, None),
        labels={("parts", 1): {"part": "2"}},
        recorded=(recorded,),
    )


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), st.data())
def test_an_action_agrees_with_any_part_of_itself(digests, data):
    files = [ActionInput(digest, digest, {"part": digest}) for digest in digests]
    recorded = replace(RECORDED, inputs={"parts": files})
    known = data.draw(st.lists(st.booleans(), min_size=len(files), max_size=len(files)))
    parts = [file if is_known else None for file, is_known in zip(files, known, strict=True)]

    assert agree(partial=recorded, parts=parts, labels={}, recorded=(recorded,))
