from dataclasses import replace

import pytest

from clipaudit.store.actions import ActionCache, ActionInput, ActionOutput, Ingredients
from clipaudit.store.pieces import Pieces, piece_key
from clipaudit.store.store import Store

OF_STEP = Ingredients("search", "c" * 64, {"sets": ["a", "b"]}, {}, {"device": "cpu"})
KEY = piece_key(OF_STEP, {"set": "a"})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def act(store, letter, *pieces):
    """Record an action that gave a text, and the pieces that the text holds."""
    pointer = store.put_bytes(letter.encode(), schema="text")
    ActionCache(store).record(letter * 64, {"text": ActionOutput(pointer, ".txt")})
    Pieces(store).record(pieces, letter * 64)


def found(store, *pieces):
    """Return the content that holds each known piece."""
    return {
        key: store.path(outputs["text"].pointer.digest).read_text()
        for keys, outputs in Pieces(store).find(pieces)
        for key in keys
    }


def test_the_key_of_a_piece_is_stable():
    """A changed literal here means that every piece is computed again."""
    assert KEY == "8871a798e9255bc14ab13b60652cc4b1c7ec09b3f5055c367662f9322fb52eee"


def test_inputs_and_other_settings_of_an_action_do_not_enter_the_key_of_a_piece():
    read = {"sets": [ActionInput("d" * 64, "results/a.json")]}

    assert piece_key(replace(OF_STEP, settings={}, inputs=read), {"set": "a"}) == KEY


@pytest.mark.parametrize(
    "changed", [{"step": "other"}, {"code": "d" * 64}, {"environment": {"device": "cuda"}}]
)
def test_step_code_and_environment_enter_the_key_of_a_piece(changed):
    assert piece_key(replace(OF_STEP, **changed), {"set": "a"}) != KEY


def test_a_piece_is_found_in_an_action_that_holds_it(store):
    act(store, "1", "a" * 64, "b" * 64)

    assert found(store, "b" * 64, "c" * 64) == {"b" * 64: "1"}


def test_the_action_that_holds_the_most_pieces_is_chosen(store):
    act(store, "1", "a" * 64)
    act(store, "2", "a" * 64, "b" * 64)

    assert found(store, "a" * 64, "b" * 64) == {"a" * 64: "2", "b" * 64: "2"}


@pytest.mark.parametrize("lost", ["action", "object"])
def test_a_piece_of_a_lost_action_is_found_in_another_one(store, lost):
    act(store, "1", "a" * 64)
    act(store, "2", "a" * 64)
    digest = store.put_bytes(b"1", schema="text").digest
    (ActionCache(store).file("1" * 64) if lost == "action" else store.path(digest)).unlink()

    assert found(store, "a" * 64) == {"a" * 64: "2"}
