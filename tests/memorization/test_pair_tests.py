import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from clipaudit.corpora.vectors import binary_rows
from clipaudit.embeddings.embedding import embeddings_schema
from clipaudit.memorization.pair_tests import (
    PAIR_SCORES,
    auc,
    auc_interval,
    pair_test,
    score_augmented,
    score_pairs,
    true_positives,
    true_positives_interval,
)
from clipaudit.memorization.recall import RECALLS

few = st.lists(st.integers(-3, 3), min_size=1, max_size=12).map(lambda v: np.array(v, float))


def embeddings(rows):
    """EMBEDDINGS of shard 0 from vectors by row."""
    vectors = np.array(list(rows.values()), np.float16)
    columns = {"shard": [0] * len(rows), "row": list(rows), "embedding": binary_rows(vectors)}
    return pa.table(columns, schema=embeddings_schema("own", vectors.shape[1]))


def scores(values):
    """PAIR_SCORES of rows 0, 1, ..."""
    columns = {"shard": [0] * len(values), "row": range(len(values)), "similarity": values}
    return pa.table(columns, schema=PAIR_SCORES)


def records(*rows):
    return pa.table({"shard": np.zeros(len(rows), np.int32), "row": np.array(rows, np.int32)})


def recalls(correct, truths):
    rows = [
        (0, row, 10, 0.5, of, 4, right, 4, right)
        for row, (right, of) in enumerate(zip(correct, truths, strict=True))
    ]
    return pa.table(dict(zip(RECALLS.names, zip(*rows, strict=True), strict=True)), schema=RECALLS)


def found(table, score, measure="auc"):
    (row,) = [r for r in table.to_pylist() if (r["score"], r["measure"]) == (score, measure)]
    return row


def test_a_record_with_both_embeddings_has_their_cosine_as_score():
    captions = embeddings({0: [1, 0], 2: [3, 4], 5: [1, 0]})
    pictures = embeddings({2: [4, 3], 3: [1, 1], 5: [0, 2]})

    table = score_pairs(captions, pictures)

    assert table.schema == PAIR_SCORES
    assert table["row"].to_pylist() == [2, 5]
    assert table["similarity"].to_pylist() == [0.96, 0.0]


@given(few, few)
def test_the_auc_is_the_share_of_pairs_where_the_member_scores_higher(members, holdout):
    wins = [(m > h) + (m == h) / 2 for m in members for h in holdout]

    assert auc(members, holdout) == pytest.approx(sum(wins) / len(wins), abs=1e-12)


@given(few, few.filter(lambda values: len(values) >= 3))
def test_a_true_positive_rate_is_the_best_over_thresholds_that_few_pass(members, holdout):
    allowed = [t for t in holdout if (holdout > t).mean() <= 1 / 3]

    best = max((members > threshold).mean() for threshold in allowed)

    assert true_positives(members, holdout, one_in=3) == best


@given(st.floats(0, 1), st.integers(2, 500), st.integers(2, 500))
def test_an_auc_interval_has_a_width_contains_the_auc_and_is_symmetric(value, members, holdout):
    low, high = auc_interval(value, members, holdout)
    other_low, other_high = auc_interval(1 - value, members, holdout)

    assert 0 <= low <= value <= high <= 1
    assert low < high
    assert (low, high) == pytest.approx((1 - other_high, 1 - other_low), abs=1e-9)


def simulated(shift, *, runs=200, members=150, holdout=120):
    """Members and hold-out of `runs` models; `shift` in standard deviations is planted memory."""
    generator = np.random.default_rng(0)
    for _ in range(runs):
        yield generator.normal(shift, 1, members), generator.normal(0, 1, holdout)


def test_models_without_memorization_raise_at_most_five_percent_false_alarms():
    bounds = [auc_interval(auc(*pair), 150, 120) for pair in simulated(0.0)]

    alarms = sum(not low <= 0.5 <= high for low, high in bounds)
    assert 3 <= alarms <= 18  # binomial of 200 at 5 %: 99.8 % of the time


def test_planted_memorization_is_found_and_its_auc_is_within_the_interval():
    true = 0.7602499389065233  # P(N(1, 1) > N(0, 1)) = Phi(1 / sqrt(2))
    bounds = [auc_interval(auc(*pair), 150, 120) for pair in simulated(1.0)]

    assert all(low > 0.5 for low, _ in bounds)
    assert sum(low <= true <= high for low, high in bounds) >= 182


def test_rates_without_memorization_are_within_their_intervals():
    generator = np.random.default_rng(1)
    bounds = [
        true_positives_interval(*pair, one_in=100, generator=generator)
        for pair in simulated(0.0, members=500, holdout=600)
    ]

    assert sum(low <= 0.01 <= high for low, high in bounds) >= 182  # 190 are expected


@pytest.mark.parametrize("shift", [1.0, 3.0])
@pytest.mark.parametrize("holdout", [100, 200, 500])
def test_rates_of_models_that_memorize_are_within_their_intervals(shift, holdout):
    true = norm.sf(norm.isf(0.01) - shift)
    bounds = [
        true_positives_interval(*pair, one_in=100, generator=np.random.default_rng(run))
        for run, pair in enumerate(simulated(shift, members=1000, holdout=holdout))
    ]

    assert sum(low <= true <= high for low, high in bounds) >= 182  # of 200; 190 are expected


def test_a_rate_is_null_if_the_holdout_is_too_small_for_it():
    table = pair_test(
        {"target": scores([0.5] * 999)}, {}, records(*range(20)), records(*range(20, 999)), seed=0
    )

    assert found(table, "target", "tpr_1")["value"] == 0.0
    assert found(table, "target", "tpr_01")["value"] is None
    assert found(table, "target", "tpr_01")["holdout_records"] == 979


def test_a_model_that_separates_every_pair_still_has_an_interval():
    values = np.r_[np.ones(50), np.zeros(500)]

    table = pair_test(
        {"target": scores(values)}, {}, records(*range(50)), records(*range(50, 550)), seed=0
    )

    for measure in ("auc", "tpr_1"):
        row = found(table, "target", measure)
        assert (row["value"], row["high"]) == (1.0, 1.0)
        assert 0.9 < row["low"] < 1


def test_the_reference_removes_the_part_both_models_find_easy():
    easy = np.array([0.9, 0.1, 0.8, 0.2])
    target = easy + np.array([0.05, 0.05, 0.0, 0.0])

    table = pair_test(
        {"target": scores(target), "reference": scores(easy)},
        {},
        records(0, 1),
        records(2, 3),
        seed=0,
    )

    aucs = {score: found(table, score)["value"] for score in ("target", "difference", "reference")}
    assert aucs == {"target": 0.5, "difference": 1.0, "reference": 0.5}


def test_augmented_captions_are_scored_by_their_mean_cosine():
    pictures = embeddings({0: [1, 0], 2: [1, 0], 3: [0, 1]})
    versions = [embeddings({0: [1, 0], 1: [1, 0], 2: [3, 4]}), embeddings({0: [0, 1], 2: [4, 3]})]

    table = score_augmented(pa.concat_tables(versions), pictures)

    assert table.schema == PAIR_SCORES
    assert table["row"].to_pylist() == [0, 2]
    assert table["similarity"].to_pylist() == pytest.approx([0.5, 0.7])


@pytest.mark.parametrize("versions", ["augmented", "augmented_pictures"])
def test_a_record_that_loses_more_from_a_dropped_word_or_a_crop_scores_higher(versions):
    models = {"target": scores([0.9, 0.8, 0.9, 0.8]), versions: scores([0.3, 0.2, 0.8, 0.7])}

    table = pair_test(models, {}, records(0, 1), records(2, 3), seed=0)

    aucs = {score: found(table, score)["value"] for score in ("target", versions)}
    assert aucs == {"target": 0.5, versions: 1.0}


def test_only_records_with_objects_have_a_recall_gap_score():
    models = {
        "target": recalls([2, 1, 0, 0], [2, 2, 2, 0]),
        "reference": recalls([0, 1, 0, 0], [2, 2, 2, 0]),
    }

    table = pair_test({"target": scores([0.5] * 4)}, models, records(0, 1), records(2, 3), seed=0)

    row = found(table, "recall_gap")
    assert (row["value"], row["members"], row["holdout_records"]) == (0.75, 2, 1)


def test_without_a_holdout_there_is_no_value():
    table = pair_test({"target": scores([0.5, 0.6])}, {}, records(0, 1), records(), seed=0)

    assert {row["value"] for row in table.to_pylist()} == {None}
