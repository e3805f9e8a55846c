import logging
import os
import time

import pytest

from clipaudit.store.actions import ActionCache, ActionInput, ActionOutput, Ingredients
from clipaudit.store.store import Store

INGREDIENTS = Ingredients(
    step="gap",
    code="c0de",
    settings={"test_sets": ["val"]},
    inputs={"samples": [ActionInput("ab12", "results/samples/large/00000.json", {"part": "0"})]},
    environment={},
)


@pytest.fixture
def cache(tmp_path):
    return ActionCache(Store(tmp_path / "store"))


def output(cache, content):
    return {"manifest": ActionOutput(cache.store.put_bytes(content, schema="x"), ".parquet", {})}


def test_the_key_is_stable():
    """A changed literal here orphans every stored action."""
    assert INGREDIENTS.key() == "ed13928ab3e3e5da46327ed0512ef93460407f04bd834b0661dd5af464524e7a"


def changed(**fields):
    return Ingredients(**{**vars(INGREDIENTS), **fields})


@pytest.mark.parametrize(
    "other",
    [
        changed(step="keep"),
        changed(code="c0df"),
        changed(settings={"test_sets": ["sketch"]}),
        changed(inputs={"samples": [ActionInput("ab13", "", {"part": "0"})]}),
        changed(inputs={"samples": [ActionInput("ab12", "", {"part": "1"})]}),
        changed(environment={"device": "cpu"}),
    ],
    ids=["step", "code", "settings", "content", "labels", "environment"],
)
def test_every_ingredient_enters_the_key(other):
    assert other.key() != INGREDIENTS.key()


def test_paths_of_inputs_do_not_enter_the_key():
    moved = changed(inputs={"samples": [ActionInput("ab12", "elsewhere.json", {"part": "0"})]})

    assert moved.key() == INGREDIENTS.key()


def embedding(*paths, first="ab", second="cd", maker=None):
    """Return the key of an embedding by weights and a vocabulary at these paths."""
    weights, words = paths
    model = {"encoder": {"pretrained": weights}, "vocabulary": [words]}
    inputs = {
        "vocabulary": [ActionInput(second, words, {}, maker)],
        "weights": [ActionInput(first, weights, {}, maker)],
    }
    return changed(settings={"model": model}, inputs=inputs).key()


def test_a_setting_that_is_the_path_of_an_input_does_not_enter_the_key():
    key = embedding("w.pt", "words.gz")

    assert embedding("models/w.pt", "models/words.gz") == key
    assert embedding("w.pt", "words.gz", first="ee") != key
    assert changed(settings={"model": {"encoder": {"pretrained": "w.pt"}}}).key() != key


def test_settings_that_name_each_others_files_have_another_key():
    assert embedding("a", "b") != embedding("b", "a", first="cd", second="ab")


def test_a_setting_that_is_the_path_of_a_result_enters_the_key():
    assert embedding("a", "b", maker="f0") != embedding("c", "b", maker="f0")


def test_labels_enter_the_key_only_of_a_step_that_reads_them():
    named = [ActionInput("ab12", "results/samples/large/00000.json", {"part": "1"})]

    assert changed(inputs={"samples": named}).key() != INGREDIENTS.key()
    deaf = changed(reads_labels=False)
    assert changed(inputs={"samples": named}, reads_labels=False).key() == deaf.key()


def test_a_recorded_action_is_found(cache):
    outputs = output(cache, b"one")
    cache.record("ab" * 32, outputs)

    assert cache.find("ab" * 32) == outputs
    assert cache.find("cd" * 32) is None


def test_a_found_action_becomes_young(cache):
    cache.record("ab" * 32, output(cache, b"one"))
    path = cache.store.root / "actions" / "ab" / f"{'ab' * 31}.json"
    os.utime(path, (1, 1))

    cache.recorded("ab" * 32)
    assert path.stat().st_mtime == 1
    cache.find("ab" * 32)
    assert path.stat().st_mtime > time.time() - 60


@pytest.mark.parametrize("text", ["", "{", "{}", '{"outputs": {"manifest": {}}}'])
def test_a_stored_action_damaged_by_a_crash_is_not_found(cache, caplog, text):
    cache.record("ab" * 32, output(cache, b"one"))
    (cache.store.root / "actions" / "ab" / f"{'ab' * 31}.json").write_text(text)

    assert cache.find("ab" * 32) is None
    assert "not an action's outputs" in caplog.text
    cache.record("ab" * 32, output(cache, b"two"))
    assert cache.find("ab" * 32) == output(cache, b"two")


def test_a_missing_object_makes_the_action_run_again_and_is_reported(cache, caplog):
    outputs = output(cache, b"one")
    cache.record("ab" * 32, outputs)
    cache.store.path(outputs["manifest"].pointer.digest).unlink()

    assert cache.find("ab" * 32) is None
    assert "the object is missing. Computing it again." in caplog.text


def test_a_key_that_yields_different_bytes_logs_a_warning(cache, caplog):
    first, second = output(cache, b"one"), output(cache, b"two")
    cache.record("ab" * 32, first)
    with caplog.at_level(logging.WARNING):
        cache.record("ab" * 32, second)

    assert "NOT REPRODUCED: action abab" in caplog.text
    assert first["manifest"].pointer.digest in caplog.text
    assert cache.find("ab" * 32) == second


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"manifest"', '"../../manifest"'),
        ('"manifest"', '"a/.."'),
        ('"manifest"', '"a..b"'),
        ('".parquet"', '"/../x.parquet"'),
        ('"digest": "', '"digest": "../'),
    ],
    ids=["name", "folder", "dots", "extension", "digest"],
)
def test_a_record_whose_names_would_leave_a_folder_is_not_found(cache, old, new, caplog):
    cache.record("ab12", output(cache, b"x"))
    path = cache.file("ab12")
    path.write_text(path.read_text().replace(old, new))

    assert cache.find("ab12") is None
    assert "is not a name, extension or digest of an output" in caplog.text


@pytest.mark.parametrize("name", ["model", "epochs/0001", "captions-1", "cotr-0.1-500"])
def test_names_that_steps_give_their_outputs_are_accepted(cache, name):
    given = {name: output(cache, b"x")["manifest"]}
    cache.record("ab12", given)

    assert cache.find("ab12") == given
