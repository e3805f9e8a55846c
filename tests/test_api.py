"""The public Python API: its names, and the page that documents them."""

import doctest
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
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
