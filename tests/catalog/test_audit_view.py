from pathlib import Path

import pytest
from catalogcases import make_catalog, sample
from hypothesis import given, settings
from hypothesis import strategies as st

from clipaudit.catalog.views import audit_view, open_catalog
from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.similarity.settings import Similarity

MICRO = Path(__file__).parents[2] / "config/micro.yaml"

SAMPLES = ("samples", {"corpus": "large", "part": "00000"}, [sample(0, 0), sample(0, 1)])


def ask(results, query):
    with open_catalog(results) as connection:
        return connection.execute(query).fetchall()


def near(row, testset, similarity, gap=None):
    found = {"shard": 0, "row": row, "testset": testset, "similarity": similarity}
    return found if gap is None else {**found, "gap_similarity": similarity, "gap": gap}


def test_audits_that_did_not_run_are_null(tmp_path):
    results = make_catalog(tmp_path, SAMPLES)

    found = ask(results, "select row, gap, kept_by, recall_gap, cotr, rsa, drops from audit")

    assert sorted(found) == [(row, None, None, None, None, None, None) for row in (0, 1)]


def test_no_view_exists_without_samples():
    assert audit_view({"manifests": {"corpus", "shard", "row"}}, None) is None


def test_derived_corpora_have_no_samples_of_their_own(tmp_path):
    drawn = ("samples", {"source": "large", "kind": "records"}, [sample(0, 1)])
    results = make_catalog(tmp_path, SAMPLES, drawn)

    assert ask(results, "select corpus, count(*) from audit group by all") == [("large", 2)]


def test_the_nearest_test_set_is_the_first_by_name_in_a_tie(tmp_path):
    rows = [near(0, "val", 0.75), near(0, "sketch", 0.75), near(0, "a", 0.5), near(1, "a", 0.25)]
    similarities = ("similarities", {"corpus": "large", "encoder": "own"}, rows)
    results = make_catalog(tmp_path, SAMPLES, similarities)

    found = ask(results, "select nearest_testset, nearest_similarity from audit order by row")

    assert found == [("sketch", 0.75), ("a", 0.25)]


@pytest.mark.parametrize("corpus", ["large", "large.drawn"])
def test_similarities_are_those_of_the_similarity_audits_encoder(tmp_path, corpus):
    files = [
        ("similarities", {"corpus": corpus, "encoder": encoder}, [near(0, "val", similarity)])
        for encoder, similarity in (("own", 0.5), ("other", 0.75))
    ]
    run = parse_settings(read_settings(MICRO))
    assert run.section(Similarity).encoder == "own"
    results = make_catalog(tmp_path, SAMPLES, *files, run=run)

    assert ask(results, "select nearest_similarity from audit where row = 0") == [(0.5,)]


def test_similarities_of_a_drawn_corpus_count_where_its_source_has_none(tmp_path):
    asked = ("similarities", {"corpus": "large", "encoder": "own"}, [near(0, "val", 0.5)])
    drawn = ("similarities", {"corpus": "large.drawn", "encoder": "own"},
             [near(0, "val", 0.75), near(1, "val", 0.75)])  # fmt: skip
    results = make_catalog(tmp_path, SAMPLES, asked, drawn)

    found = ask(results, "select nearest_similarity from audit order by row")

    assert found == [(0.5,), (0.75,)]


def test_the_gap_is_the_one_that_is_exceeded_most(tmp_path):
    rows = [near(0, "val", 0.875, gap=0.75), near(0, "sketch", 0.75, gap=0.25), near(1, "val", 0.5)]
    similarities = ("similarities", {"corpus": "large", "encoder": "own"}, rows)
    results = make_catalog(tmp_path, SAMPLES, similarities)

    found = ask(results, "select gap_testset, gap, gap_excess from audit order by row")

    assert found == [("sketch", 0.25, 0.5), (None, None, None)]


def test_manifests_are_listed_by_name_with_their_reasons(tmp_path):
    gone = {"shard": 0, "row": 0, "kept": False}
    files = [
        ("manifests", {"corpus": "large", "pruning": "all"}, [{"shard": 0, "row": 0}]),
        ("manifests", {"corpus": "large", "set": "set-b"}, [{**gone, "reason": "not drawn"}]),
        ("manifests", {"corpus": "large", "curated": "plain-5"}, [{**gone, "reason": "text"}]),
    ]
    results = make_catalog(tmp_path, SAMPLES, *files)

    found = ask(results, "select kept_by, pruned_from, pruned_because from audit where row = 0")

    assert found == [(["all"], ["plain-5", "set-b"], ["text", "not drawn"])]


def recalled(row, correct):
    return {"shard": 0, "row": row, "k": 2, "truths": 4, "correct": correct}


def test_the_target_is_the_model_that_trained_on_the_record(tmp_path):
    members = ("members", {"source": "large"}, [
        {"shard": 0, "row": 0, "set": "a"}, {"shard": 0, "row": 1, "set": "b"},
    ])  # fmt: skip
    of = {"public": "large", "source": "large"}
    models = [
        ("recalls", {**of, "encoder": "base.set-a"}, [recalled(0, 3), recalled(1, 3)]),
        ("recalls", {**of, "encoder": "base.set-b"}, [recalled(0, 1), recalled(1, 1)]),
        ("recalls", {**of, "encoder": "base.other.set-a"}, [recalled(0, 4)]),
    ]
    results = make_catalog(tmp_path, SAMPLES, members, *models)

    found = ask(results, "select memorization_set, recall_target, recall_gap from audit order by 1")

    assert found == [("a", 0.75, 0.5), ("b", 0.25, -0.5)]


def test_drops_name_stage_and_reason_once(tmp_path):
    drop = {"shard": 0, "row": 0, "stage": "spot", "reason": "corrupt image"}
    results = make_catalog(
        tmp_path,
        SAMPLES,
        ("drops_spot", {"corpus": "large", "encoder": "own"}, [drop]),
        ("drops_spot", {"corpus": "large", "encoder": "other"}, [drop]),
    )

    found = ask(results, "select drops from audit order by row")

    assert found == [(["spot: corrupt image"],), (None,)]


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.sampled_from("xy"))),
    st.lists(st.integers(0, 3), unique=True),
)
def test_joins_never_multiply_samples(tmp_path_factory, others, rows):
    """This holds for any encoders, test sets and manifests, and for any of their rows."""
    files = [
        ("samples", {"corpus": "large"}, [sample(0, row) for row in rows]),
        *(
            (view, {"corpus": "large", "encoder": encoder, "pruning": testset}, [
                {**near(row, testset, 0.5, gap=0.25), "cluster": 0}
            ])
            for row, encoder, testset in others
            for view in ("similarities", "manifests", "duplicates")
        ),
    ]  # fmt: skip
    results = make_catalog(tmp_path_factory.mktemp("case"), *files)

    assert ask(results, "select row from audit order by row") == [(row,) for row in sorted(rows)]


def test_a_pair_that_only_approaches_its_gap_crosses_none(tmp_path):
    rows = [
        near(0, "val", 0.5, gap=0.75),
        near(0, "a", 0.75, gap=0.5),
        near(1, "val", 0.5, gap=0.5),
    ]
    similarities = ("similarities", {"corpus": "large", "encoder": "own"}, rows)
    results = make_catalog(tmp_path, SAMPLES, similarities)

    found = ask(results, "select gap_testset, gap_excess from audit order by row")

    assert found == [("a", 0.25), (None, None)]
