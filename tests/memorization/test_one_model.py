import math
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_ind

from clipaudit.errors import StoreError
from clipaudit.memorization.one_model import ONE_MODEL, one_model, recall_by_words
from clipaudit.memorization.recall import RECALLS


def addressed(**columns):
    """A table of rows 0, 1, ... of shard 0."""
    n = len(next(iter(columns.values())))
    address = {"shard": pa.array([0] * n, pa.int32()), "row": pa.array(range(n), pa.int32())}
    return pa.table({**address, **columns})


def captioned(texts):
    return addressed(caption=pa.array(texts, pa.string()))


def labelled(labels):
    return addressed(labels=pa.array(labels, pa.list_(pa.int32())))


def recalls(correct, *, predicted=None, truths=None, k=10):
    """RECALLS of rows 0, 1, ...; 4 labels predicted of images of 4, unless given."""
    n = len(correct)
    predicted, truths = predicted or [4] * n, truths or [4] * n
    columns = {
        **{"shard": [0] * n, "row": range(n), "k": [k] * n, "similarity": [None] * n},
        **{"truths": truths, "predicted": predicted, "correct": correct},
        **{"top_predicted": predicted, "top_correct": correct},
    }
    return pa.table(columns, schema=RECALLS)


def by_words(texts, truths, public, shown, asked):
    target = recalls([0] * len(texts), predicted=asked, truths=[len(set(t)) for t in truths])
    tables = captioned(texts), labelled(truths), captioned(public), labelled(shown)
    return recall_by_words(target, *tables, top=10)


def plain_order(text, public, shown):
    """Labels by log odds given a caption's words, by the definition of naive Bayes."""
    words = [set(re.findall(r"\w+", each.lower())) for each in public]
    odds = {}
    for label in {each for labels in shown for each in labels}:
        has = [label in labels for labels in shown]
        n, rest = sum(has), len(has) - sum(has)
        value = math.log((n + 1) / (rest + 1))
        for word in set(re.findall(r"\w+", text.lower())):
            inside = sum(word in each for each, yes in zip(words, has, strict=True) if yes)
            outside = sum(word in each for each, yes in zip(words, has, strict=True) if not yes)
            value += math.log((inside + 1) / (n + 2)) - math.log((outside + 1) / (rest + 2))
        odds[label] = round(value, 9) + 0.0
    return sorted(odds, key=lambda label: (-odds[label], label))


texts = st.lists(st.sampled_from(["red", "Cat", "dog", "on"]), max_size=3).map(" ".join)
labels = st.lists(st.integers(-1, 4), max_size=3)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(texts, labels, st.integers(0, 6)), min_size=1, max_size=5),
    st.lists(st.tuples(texts, labels), min_size=1, max_size=6),
)
def test_word_predictions_equal_the_definition_of_naive_bayes(records, images):
    captions, truths, asked = zip(*records, strict=True)
    public, shown = zip(*images, strict=True)

    found = by_words(captions, truths, public, shown, list(asked)).to_pylist()

    for row, text, own, count in zip(found, captions, truths, asked, strict=True):
        order = plain_order(text, public, shown)[:count]
        assert row["predicted"] == len(order)
        assert row["correct"] == len(set(order) & set(own))


def test_words_of_a_caption_predict_the_objects_they_occur_with():
    public, shown = ["a cat", "a cat", "a dog", "a dog"], [[1, 7], [1, 8], [2], [2]]

    found = by_words(["the cat", "the dog"], [[1], [2]], public, shown, [1, 1])

    assert found["correct"].to_pylist() == [1, 1]
    assert found.schema == RECALLS


def test_public_images_without_caption_or_objects_do_not_affect_predictions():
    public, shown = ["a cat", None, "a cat"], [[1], [2], None]

    found = by_words(["cat"], [[1, 2]], public, shown, [5])

    assert found["predicted"].to_pylist() == [1]


def test_a_record_without_a_sample_gives_an_error():
    target, none = recalls([1, 1]), labelled([[1], [1]])

    with pytest.raises(StoreError, match=r"record \(shard, row\) \(0, 1\)"):
        recall_by_words(
            target, captioned(["cat"]), none, captioned(["cat"]), labelled([[1]]), top=10
        )


def records(*rows):
    return pa.table({"shard": np.zeros(len(rows), np.int32), "row": np.array(rows, np.int32)})


def values(table, reference="words", measure="aucg"):
    rows = table.to_pylist()
    chosen = [r for r in rows if (r["reference"], r["measure"]) == (reference, measure)]
    return {row["part"]: row for row in chosen}


def test_net_gaps_are_gaps_of_members_less_those_of_the_holdout():
    target, words = recalls([4, 2, 1, 2]), recalls([1, 2, 2, 1])

    table = one_model(target, {"words": words}, records(0, 1), records(2, 3), neighbors=[10])

    assert table.schema == ONE_MODEL
    found = {part: row["value"] for part, row in values(table).items()}
    assert found == {"members": 0.375, "holdout": 0.0, "net": 0.375}
    assert values(table, measure="prg")["members"]["value"] == 0.5


def test_agreeing_records_give_no_interval():
    same = recalls([1, 1, 1, 1])

    table = one_model(same, {"words": same}, records(0, 1), records(2, 3), neighbors=[10])

    assert {(row["value"], row["low"]) for row in table.to_pylist()} == {(0.0, None)}


def test_agreement_is_the_rank_correlation_with_the_gaps_of_two_models():
    target = recalls([0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
    references = {"words": recalls([0] * 10), "model": recalls([0] * 5 + [0, 2, 4, 4, 4])}
    sets = records(*range(5)), records(*range(5, 10))

    table = one_model(target, references, *sets, neighbors=[10])

    agreement = {part: row["value"] for part, row in values(table).items() if "agreement" in part}
    assert agreement["agreement_members"] == pytest.approx(1)
    # the ranks of 0 to 4 and of the gaps 0, -1, -2, -1, 0 are uncorrelated
    assert agreement["agreement_holdout"] == pytest.approx(0)
    assert not [part for part in values(table, "model") if "agreement" in part]


def test_intervals_of_agreement_hold_for_tied_gaps():
    generator, shares = np.random.default_rng(0), [0.10, 0.02, 0.02, 0.86]
    true = (0.10 * 0.86 - 0.02 * 0.02) / (0.12 * 0.88)  # of two binary gaps: the phi coefficient
    alarms = 0
    for _ in range(200):
        kinds = generator.choice(4, 150, p=shares)  # what is missed: by both, by one, by none
        missed = [np.isin(kinds, [0, reference]).astype(int) for reference in (1, 2)]
        words, model = (recalls((1 - each).tolist(), truths=[1] * 150) for each in missed)
        target = recalls([1] * 150, truths=[1] * 150)
        sets = records(*range(149)), records(149)
        table = one_model(target, {"words": words, "model": model}, *sets, neighbors=[10])
        row = values(table)["agreement_members"]
        alarms += not row["low"] <= true <= row["high"]

    assert 2 <= alarms <= 18  # binomial of 200 at 5 %: 99.8 % of the time


def test_aggregate_agreement_with_two_models_is_the_difference_of_net_gaps():
    target = recalls([4, 3, 1, 2, 0])
    references = {"words": recalls([1, 1, 1, 1, 1]), "model": recalls([2, 0, 1, 2, 0])}

    table = one_model(target, references, records(0, 1), records(2, 3, 4), neighbors=[10])

    nets = [values(table, name)["net"]["value"] for name in ("words", "model")]
    assert values(table)["less_model"]["value"] == pytest.approx(nets[0] - nets[1])
    assert values(table)["less_model"]["records"] == 5
    assert "less_model" not in values(table, "model")


def test_intervals_of_few_records_are_those_of_student_and_welch():
    target, words = recalls([4, 2, 1, 2, 3, 4, 1]), recalls([1, 2, 2, 1, 3, 3, 1])
    more = np.array([3, 0, -1, 1, 0, 1, 0]) / 4

    table = one_model(
        target, {"words": words}, records(*range(4)), records(4, 5, 6), neighbors=[10]
    )

    found = {part: (row["low"], row["high"]) for part, row in values(table).items()}
    assert found["members"] == pytest.approx(tuple(ttest_1samp(more[:4], 0).confidence_interval()))
    both = ttest_ind(more[:4], more[4:], equal_var=False).confidence_interval()
    assert found["net"] == pytest.approx(tuple(both))


def test_intervals_hold_if_few_records_differ():
    generator, alarms = np.random.default_rng(0), 0
    words, sets = recalls([1] * 102), (records(*range(100)), records(100, 101))
    for _ in range(200):
        target = generator.binomial(1, 0.03, 102) + 1
        table = one_model(recalls(target.tolist()), {"words": words}, *sets, neighbors=[10])
        row = values(table, measure="prg")["members"]
        # no interval if no record differs, in 5 % of draws
        alarms += row["low"] is not None and not row["low"] <= 0.03 <= row["high"]

    assert alarms <= 18  # binomial of 200 at 5 %: 99.9 % of the time


def simulated(planted, runs=200, n=150):
    """The net gaps of models that recall more than captions do, and `planted` more on members."""
    generator = np.random.default_rng(0)
    for _ in range(runs):
        target = generator.binomial(4, [0.4 + planted] * n + [0.4] * n).tolist()
        reference = generator.binomial(4, 0.3, 2 * n).tolist()
        sets = records(*range(n)), records(*range(n, 2 * n))
        table = one_model(recalls(target), {"words": recalls(reference)}, *sets, neighbors=[10])
        yield values(table)["net"]


def test_a_model_that_predicts_images_better_than_words_do_is_no_false_alarm():
    alarms = sum(not row["low"] <= 0 <= row["high"] for row in simulated(0.0))

    assert 2 <= alarms <= 18  # binomial of 200 at 5 %: 99.8 % of the time


def test_planted_memorization_is_found_net_of_the_holdout():
    assert all(row["low"] > 0 for row in simulated(0.25, runs=50))
