"""The public Python API: its names, and the page that documents them."""

import doctest
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch
from catalogcases import make_catalog, sample
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from plaincosines import plain_cosines

import clipaudit

ROOT = Path(__file__).parents[1]
NAMES = """
    ClipauditError ConfigError Embedded Gap InputError Neighbors StepError StoreError __version__
    cotr deja_vu_gaps kept_by_gap nearest open_catalog
""".split()
UNIT = st.sampled_from([-1.0, -0.5, 0.25, 0.5, 1.0])


def vectors(most):
    return st.integers(1, most).flatmap(lambda n: arrays(np.float64, (n, 3), elements=UNIT))


def test_the_public_names_are_these():
    assert sorted(clipaudit.__all__) == sorted(NAMES)
    assert all(hasattr(clipaudit, name) for name in NAMES)
    assert clipaudit.__version__ == version("clipaudit")


def test_importing_clipaudit_imports_no_library():
    heavy = "{'numpy', 'pyarrow', 'torch', 'duckdb'} & set(sys.modules)"
    asked = [sys.executable, "-c", f"import sys, clipaudit; print({heavy})"]

    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == "set()\n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nearst'"):
        _ = clipaudit.nearst


def test_every_example_of_the_page_prints_the_output_shown(tmp_path, monkeypatch):
    make_catalog(tmp_path, ("samples", {"corpus": "web"}, [sample(0, 0), sample(0, 1)]))
    monkeypatch.chdir(tmp_path)

    found = doctest.testfile(str(ROOT / "docs/api.md"), module_relative=False)

    assert (found.failed, found.attempted > 20) == (0, True)


def test_the_page_shows_every_function():
    page = (ROOT / "docs/api.md").read_text()

    assert [name for name in NAMES if name[0].islower() and f"clipaudit.{name}(" not in page] == []


def halves(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@given(vectors(9), vectors(9), st.integers(1, 4))
def test_nearest_neighbours_in_both_directions_match_brute_force(queries, rows, k):
    exact = plain_cosines(*(halves(x).astype(np.float16) for x in (queries, rows)))

    found = clipaudit.nearest(queries, rows, k=k)

    expected = np.argsort(-exact, axis=1, kind="stable")[:, :k]
    assert found.rows[:, : len(rows)].tolist() == expected.tolist()
    assert found.query.tolist() == exact.argmax(axis=0).tolist()
    assert (found.rows[:, len(rows) :] == -1).all()


@pytest.mark.parametrize("length", [1e-300, 1e-30, 1e20, 1e300])
def test_very_short_and_very_long_vectors_have_the_neighbours_of_their_directions(length):
    rows = np.random.default_rng(0).standard_normal((9, 4))

    found, usual = (clipaudit.nearest(each[:2], each, k=9) for each in (length * rows, rows))

    assert found.rows.tolist() == usual.rows.tolist()


@given(vectors(9), vectors(5), vectors(4))
def test_the_gap_rule_matches_brute_force(large, small, tests):
    large_rows, small_rows, test_rows = (
        halves(x).astype(np.float16) for x in (large, small, tests)
    )
    gaps = plain_cosines(small_rows, test_rows).max(axis=0)

    kept = clipaudit.kept_by_gap(large, small, tests)

    assert kept.tolist() == (~(plain_cosines(large_rows, test_rows) > gaps).any(axis=1)).tolist()


@pytest.mark.parametrize(("small", "tests", "kept"), [(0, 2, False), (2, 0, True)])
def test_no_small_set_removes_all_and_no_test_set_removes_none(small, tests, kept):
    found = clipaudit.kept_by_gap(np.eye(3), np.eye(3)[:small], np.eye(3)[:tests])

    assert found.tolist() == [kept] * 3


def test_equal_models_have_no_deja_vu_gap():
    rng = np.random.default_rng(0)
    one = clipaudit.Embedded(rng.standard_normal((40, 4)), rng.standard_normal((30, 4)))
    labels = [rng.choice(list("abcd"), 2).tolist() for _ in range(70)]

    for seen_by in (["target", "reference"] * 20, ["target", "neither"] * 20):
        gaps = clipaudit.deja_vu_gaps(one, one, labels[:40], labels[40:], seen_by=seen_by, k=3)

        assert {name: gap.value for name, gap in gaps.items()} == dict.fromkeys(gaps, 0.0)
        assert all(gap.low < 0 < gap.high for gap in gaps.values())


def test_a_general_advantage_of_one_model_is_not_deja_vu():
    public, labels = np.eye(4), [["a"], ["b"], ["c"], ["d"]]
    right, wrong = clipaudit.Embedded(np.tile(public, (9, 1)), public), np.roll(public, 1, axis=0)
    other = clipaudit.Embedded(np.tile(wrong, (9, 1)), public)
    seen_by = ["target"] * 16 + ["reference"] * 16 + ["neither"] * 4

    gaps = clipaudit.deja_vu_gaps(right, other, labels * 9, labels, seen_by=seen_by, k=1)

    assert gaps["prg"].value == 0
    assert gaps["prg"].p_value == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clipaudit.nearest(np.eye(2), np.eye(3)), "dimension 3 against .* dimension 2"),
        (lambda: clipaudit.cotr(["a"], []), "1 captions, but the texts of 0 images"),
        (
            lambda: clipaudit.deja_vu_gaps(
                clipaudit.Embedded(np.eye(2), np.eye(2)),
                clipaudit.Embedded(np.eye(2), np.eye(2)),
                [["a"]],
                [["a"], ["b"]],
                seen_by=["target"],
            ),
            "captions: 2 embeddings of the target model, 2 of the reference model, and labels of 1",
        ),
        (
            lambda: clipaudit.deja_vu_gaps(
                clipaudit.Embedded(np.eye(2), np.eye(2)),
                clipaudit.Embedded(np.eye(2), np.eye(2)),
                [["a"], ["b"]],
                [["a"], ["b"]],
                seen_by=["target", "target"],
            ),
            r"all records are of one kind \(target\)",
        ),
    ],
)
def test_wrong_arguments_give_a_message(call, message):
    with pytest.raises(clipaudit.InputError, match=message):
        call()


@pytest.fixture
def _untyped(monkeypatch):
    """Let calls of a wrong type through, as in a notebook; only tests check types at each call."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.mark.parametrize(
    ("captions", "texts", "message"),
    [
        (["a cat"], ["a cat"], r"texts: entry 0 is 'a cat' \(str\); give a list for each image"),
        (["a"], [None], r"texts: entry 0 is None"),
        (["a"], [["a", None]], r"texts: entry 0 has None \(NoneType\); give only texts"),
        (["a", b"a"], [[], []], r"captions: entry 1 has b'a' \(bytes\); give a text, or None"),
        ([3], [["3"]], r"captions: entry 0 has 3 \(int\)"),
        ("a", [["a"]], r"captions: 'a' \(str\) is not a list"),
    ],
)
@pytest.mark.usefixtures("_untyped")
def test_captions_and_texts_of_another_form_are_refused(captions, texts, message):
    with pytest.raises(clipaudit.InputError, match=message):
        clipaudit.cotr(captions, texts)


@pytest.mark.usefixtures("_untyped")
def test_an_unknown_tokenization_is_refused():
    with pytest.raises(clipaudit.InputError, match="'bpe' is none of words, plain"):
        clipaudit.cotr(["a"], [["a"]], tokenization="bpe")


def test_a_caption_that_pandas_calls_missing_has_no_rate():
    assert np.isnan(clipaudit.cotr([float("nan"), None], [["nan"], ["x"]])).all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (torch.eye(2).bfloat16(), "rows: not an array of real numbers .*BFloat16.*tensor.detach"),
        (torch.eye(2, requires_grad=True), "rows: not an array of real numbers .*requires grad"),
        ([[1.0, 2.0], [1.0]], "rows: not an array of real numbers .*; give rows of equally"),
        ([["a", "b"]], "rows: not an array of real numbers"),
        (np.eye(2) + 1j, r"rows: not an array of real numbers \(numbers of type complex128\)"),
        (np.ma.masked_equal(np.eye(2), 0), "rows: a masked array"),
    ],
)
@pytest.mark.usefixtures("_untyped")
def test_vectors_that_are_not_real_numbers_are_refused(rows, message):
    with pytest.raises(clipaudit.InputError, match=message):
        clipaudit.nearest(np.eye(2), rows)


@pytest.mark.parametrize("k", [1.5, 0, "2"])
@pytest.mark.usefixtures("_untyped")
def test_a_number_of_neighbours_that_is_not_whole_is_refused(k):
    with pytest.raises(clipaudit.InputError, match=f"k is {k!r}; give a whole number"):
        clipaudit.nearest(np.eye(2), np.eye(2), k=k)


@pytest.mark.usefixtures("_untyped")
def test_vectors_of_another_dimension_are_named_as_the_caller_names_them():
    one, other = np.eye(2), np.eye(3)

    with pytest.raises(clipaudit.InputError, match=r"small: .* dimension 3 against tests of .* 2"):
        clipaudit.kept_by_gap(one, other, one)
    with pytest.raises(
        clipaudit.InputError, match=r"target\.public: .* 3 against target\.captions"
    ):
        small_gaps(target=clipaudit.Embedded(one, np.eye(3)[:2]))


def small_gaps(*, labels=(["a"], ["b"]), public_labels=(["a"], ["b"]), target=None, seen_by=None):
    one = clipaudit.Embedded(np.eye(2), np.eye(2))
    seen_by = seen_by or ["target", "reference"]
    return clipaudit.deja_vu_gaps(target or one, one, labels, public_labels, seen_by=seen_by, k=1)


@pytest.mark.parametrize(
    ("labels", "public_labels", "message"),
    [
        (["cat", "dog"], [["cat"]] * 2, r"labels: entry 0 is 'cat' \(str\); give a list for each"),
        ([["cat"]] * 2, [1, 2], r"public_labels: entry 0 is 1 \(int\); give a list for each"),
        ([["cat"], None], [["cat"]] * 2, "labels: entry 1 is None"),
        (
            [["1"], ["2"]],
            [[], [1]],
            r"public_labels: entry 1 has 1 \(int\); give only names in both",
        ),
        ([[1], [2]], [[1], ["2"]], "public_labels: entry 1 has '2' .*; give only whole numbers"),
    ],
)
@pytest.mark.usefixtures("_untyped")
def test_labels_of_another_form_are_refused(labels, public_labels, message):
    with pytest.raises(clipaudit.InputError, match=message):
        small_gaps(labels=labels, public_labels=public_labels)


@pytest.mark.usefixtures("_untyped")
def test_labels_may_be_numbers():
    numbers = small_gaps(labels=[[1], [np.int64(2)]], public_labels=[[1], [2]])

    assert numbers == small_gaps()


@pytest.mark.usefixtures("_untyped")
def test_an_unknown_model_of_seen_by_is_refused_with_the_known_ones():
    with pytest.raises(clipaudit.InputError, match="1 is 'ref'; give one of target, reference"):
        small_gaps(seen_by=["target", "ref"])
