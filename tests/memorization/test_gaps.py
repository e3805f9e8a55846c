from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clipaudit.errors import InputError
from clipaudit.memorization.gaps import GAPS, SURVIVAL, population_gaps, survival
from clipaudit.memorization.pairs import pair_up
from clipaudit.memorization.recall import RECALLS
from clipaudit.memorization.sample_gaps import SAMPLE_GAPS, FirstRecords

MEASURES = ("ppg", "prg", "aucg", "aucg_histogram")


def recalls(records, model, *, k=10):
    """RECALLS of records [(truths, target, reference), ...] by one of the two models.

    A model's entry is (predicted, correct); its similarity falls with the predicted labels.
    """
    rows = [
        (row // 4, row % 4, k, 1 / predicted if predicted else None, truths)
        + (predicted, correct) * 2
        for row, (truths, *models) in enumerate(records)
        for predicted, correct in [models[model]]
    ]
    return pa.Table.from_pylist(
        [dict(zip(RECALLS.names, row, strict=True)) for row in rows], RECALLS
    )


def paired(records):
    return pair_up(recalls(records, 0), recalls(records, 1))


def gaps_of(*, seed=0, **attacks):
    """GAPS of attacks on records of one source."""
    return population_gaps({name: {"web": pairs} for name, pairs in attacks.items()}, seed=seed)


def outcome(draw, truths):
    correct = draw(st.integers(0, truths))
    return correct + draw(st.integers(0, 3)), correct


@st.composite
def records_of_two(draw, *, min_size=0):
    truths = draw(st.lists(st.integers(0, 4), min_size=min_size, max_size=12))
    return [(own, outcome(draw, own), outcome(draw, own)) for own in truths]


def share(part, whole):
    return Fraction(part, whole) if whole else Fraction(0)


def scores(record, model):
    """Precision, recall and F-score of one record."""
    truths, (predicted, correct) = record[0], record[1 + model]
    precision, recall = share(correct, predicted), share(correct, truths)
    return precision, recall, share(2 * precision * recall, precision + recall)


def plain_gaps(records):
    kept = [record for record in records if record[0]]
    pairs = [(scores(record, 0), scores(record, 1)) for record in kept]
    wins = [
        share(sum((a[at] > b[at]) - (a[at] < b[at]) for a, b in pairs), len(pairs)) for at in (0, 1)
    ]
    area = share(sum(a[1] - b[1] for a, b in pairs), len(pairs))
    histogram = published_area([a[1] for a, _ in pairs]) - published_area([b[1] for _, b in pairs])
    return dict(zip(MEASURES, (*wins, area, histogram), strict=True))


def published_area(values):
    """The area that the published code takes of 100 bins, in exact arithmetic."""
    low, high = min(values), max(values)
    if low == high:  # as numpy and matplotlib widen it
        low, high = low - Fraction(1, 2), high + Fraction(1, 2)
    width = (high - low) / 100
    bins = Counter(min(int((value - low) / width), 99) for value in values)
    edges = [Fraction(0), *(low + width * at for at in range(101)), Fraction(1)]
    heights = [1, *(share(sum(bins[b] for b in range(at, 100)), len(values)) for at in range(100))]
    steps = [after - before for before, after in pairwise(edges)]
    return sum(height * step for height, step in zip([*heights, 0], steps, strict=True))


def by_measure(table, target):
    return {row["measure"]: row for row in table.to_pylist() if row["target"] == target}


# --- population ----------------------------------------------------------------------------------


@given(records_of_two())
@settings(deadline=None, max_examples=40)
def test_values_equal_the_definitions_in_exact_fractions(records):
    table = gaps_of(a=paired(records))

    assert table.schema == GAPS
    evaluated = sum(truths > 0 for truths, *_ in records)
    rows = by_measure(table, "a")
    for row in rows.values():
        assert (row["evaluated"], row["dropped"]) == (evaluated, len(records) - evaluated)
    if evaluated:
        expected = {name: float(value) for name, value in plain_gaps(records).items()}
        got = {name: row["value"] for name, row in rows.items()}
        assert got.pop("aucg_histogram") == pytest.approx(expected.pop("aucg_histogram"), abs=1e-14)
        assert got == expected


@given(records_of_two(min_size=1))
@settings(deadline=None, max_examples=20)
def test_swapping_the_models_negates_the_gaps_and_keeps_the_counts(records):
    swapped = paired([(truths, reference, target) for truths, target, reference in records])

    table = gaps_of(a=paired(records), b=swapped)

    for name, row in by_measure(table, "a").items():
        other = by_measure(table, "b")[name]
        assert row["value"] == (None if other["value"] is None else -other["value"])
        assert (row["evaluated"], row["dropped"]) == (other["evaluated"], other["dropped"])


@given(records_of_two(min_size=1), st.randoms())
@settings(deadline=None, max_examples=20)
def test_the_order_of_rows_does_not_matter(records, random):
    mine, theirs = (random.sample(range(len(records)), len(records)) for _ in range(2))
    left, right = recalls(records, 0), recalls(records, 1)

    shuffled = pair_up(left.take(pa.array(mine)), right.take(pa.array(theirs)))

    expected = gaps_of(a=pair_up(left, right), seed=3)
    assert gaps_of(a=shuffled, seed=3).equals(expected)


@given(records_of_two(min_size=1))
def test_the_area_between_the_survival_curves_is_aucg(records):
    curves = survival(paired(records))

    assert curves.schema == SURVIVAL
    areas = {}
    for model in ("target", "reference"):
        rows = [row for row in curves.to_pylist() if row["model"] == model]
        assert rows == sorted(rows, key=lambda row: row["recall"])
        starts = [0.0, *(row["recall"] for row in rows)]
        areas[model] = sum(
            (row["recall"] - start) * row["at_least"]
            for row, start in zip(rows, starts, strict=False)
        )
    if len(curves):
        area = plain_gaps(records)["aucg"]
        assert areas["target"] - areas["reference"] == pytest.approx(float(area), abs=1e-12)


def test_survival_counts_the_records_with_each_recall():
    curves = survival(paired([(2, (2, 2), (1, 1)), (2, (1, 1), (1, 1)), (0, (1, 0), (1, 0))]))

    assert [tuple(row.values()) for row in curves.to_pylist()] == [
        ("target", 0.5, 1.0, 1), ("target", 1.0, 0.5, 1), ("reference", 0.5, 1.0, 2),
    ]  # fmt: skip


def test_no_evaluated_records_give_no_values():
    pairs = paired([(0, (3, 0), (1, 0))])

    table = gaps_of(a=pairs, b=paired([]))

    assert len(survival(pairs)) == 0
    assert table["target"].to_pylist() == ["mean"] * 4 + ["a"] * 4 + ["b"] * 4
    assert table["value"].null_count == table["p_value"].null_count == table["low"].null_count == 12
    assert table["dropped"].to_pylist() == [1] * 4 + [1] * 4 + [0] * 4


def test_the_mean_is_over_both_directions():
    better = paired([(2, (3, 2), (4, 1))] * 9 + [(2, (3, 1), (3, 1)), (0, (0, 0), (0, 0))])
    worse = paired([(4, (3, 1), (4, 2))] * 3)

    table = gaps_of(a=better, b=worse)

    a, b, mean = (by_measure(table, name) for name in ("a", "b", "mean"))
    for name in MEASURES:
        assert mean[name]["value"] == pytest.approx((a[name]["value"] + b[name]["value"]) / 2)
        assert (mean[name]["evaluated"], mean[name]["dropped"]) == (13, 1)
    assert mean["aucg_histogram"]["p_value"] is None


def test_a_direction_is_net_of_the_difference_of_its_models_on_the_holdout():
    a, b, unseen = (paired(differing(wins, 20, 60)) for wins in (60, 30, 50))

    table = gaps_of(a=a, b=b, control=unseen)

    rows = {name: by_measure(table, name)["prg"] for name in ("mean", "a", "b", "control")}
    control = rows["control"]["value"]
    assert rows["a"]["net"] == pytest.approx(rows["a"]["value"] - control)
    assert rows["b"]["net"] == pytest.approx(
        rows["b"]["value"] + control
    )  # the models change place
    assert rows["mean"]["value"] == pytest.approx((rows["a"]["net"] + rows["b"]["net"]) / 2)
    for row in rows["a"], rows["b"]:
        assert row["net_low"] < row["net"] < row["net_high"]
        assert (row["low"], row["high"], row["p_value"]) == (None, None, None)


def test_the_interval_of_a_net_value_reaches_beyond_1():
    table = gaps_of(a=paired(differing(99, 0, 0)), control=paired(differing(0, 99, 0)))

    row = by_measure(table, "a")["prg"]
    assert row["net"] == row["net_high"] == 2
    assert 1.9 < row["net_low"] < 2


def test_an_interval_includes_a_histogram_area_beyond_1():
    wins = [(10, (10, 10), (10, correct)) for correct in [0] * 200 + [1]]

    row = by_measure(gaps_of(control=paired(wins)), "control")["aucg_histogram"]

    assert 1 < row["value"] <= row["high"] <= 1.01


def test_without_a_holdout_a_direction_has_no_net_value():
    table = gaps_of(a=paired(differing(9, 1, 3)), b=paired(differing(9, 1, 3)))

    assert table["net"].null_count == table["net_low"].null_count == len(table)


def test_a_general_advantage_of_one_model_is_not_memorization():
    """A's model wins on nine of ten records, of A, of B and of neither."""
    ahead, behind = paired(differing(180, 20, 0)), paired(differing(20, 180, 0))

    table = gaps_of(a=ahead, b=behind, control=ahead)

    mean, a = by_measure(table, "mean")["prg"], by_measure(table, "a")["prg"]
    assert a["value"] == 0.8
    assert mean["value"] == a["net"] == 0
    assert mean["low"] < 0 < mean["high"]
    assert mean["p_value"] == 1


def test_each_source_of_the_holdout_counts_as_much_as_it_does_in_the_direction():
    """A's model wins on nine of ten web records, and loses on nine of ten of the album."""
    a = {"web": paired(differing(810, 90, 0)), "album": paired(differing(10, 90, 0))}
    unseen = {"web": paired(differing(90, 10, 0)), "album": paired(differing(90, 810, 0))}

    row = by_measure(population_gaps({"a": a, "control": unseen}, seed=0), "a")["prg"]

    assert row["net"] == 0
    assert row["net_low"] < 0 < row["net_high"]
    del unseen["album"]
    row = by_measure(population_gaps({"a": a, "control": unseen}, seed=0), "a")["prg"]
    assert row["net"] is None


def test_each_source_has_its_own_gaps_next_to_those_of_all_sources():
    seen, unseen = paired(differing(9, 1, 0)), paired(differing(1, 1, 8))

    table = population_gaps({"a": {"web": seen, "album": unseen}, "b": {"web": seen}}, seed=0)

    rows = [row for row in table.to_pylist() if row["target"] == "a" and row["measure"] == "prg"]
    a = {row["source"]: row["value"] for row in rows}
    assert list(dict.fromkeys(table["source"].to_pylist())) == ["", "web", "album"]
    assert (a[""], a["web"], a["album"]) == (0.4, 0.8, 0)


def test_numbers_of_a_direction_do_not_depend_on_other_attacks():
    a, b = paired([(3, (2, 2), (3, 1))] * 5), paired([(3, (2, 0), (3, 1))] * 7)

    alone = by_measure(gaps_of(b=b, seed=5), "b")

    assert by_measure(gaps_of(a=a, b=b, seed=5), "b") == alone


def differing(wins, losses, ties):
    """Records with this many wins, losses and ties of the target, in precision and recall."""
    return (
        [(4, (4, 4), (4, 2))] * wins + [(4, (4, 1), (4, 3))] * losses + [(4, (4, 2), (4, 2))] * ties
    )


def test_a_large_effect_has_a_small_p_value_and_an_interval_that_excludes_0():
    table = gaps_of(a=paired(differing(300, 100, 600)), b=paired(differing(300, 100, 600)))

    for name, row in by_measure(table, "mean").items():
        assert 0 < row["low"] < row["value"] < row["high"]
        assert row["draws_mean"] == pytest.approx(row["value"], abs=5 * row["draws_std"] / 10)
        assert name == "aucg_histogram" or row["p_value"] == 1e-4


def test_draws_use_a_tenth_of_the_records():
    table = gaps_of(a=paired(differing(300, 100, 600)))

    # a record's sign has mean 0.2 and variance 0.4 - 0.04; 100 draws measure a spread to 7 %
    assert by_measure(table, "a")["prg"]["draws_std"] == pytest.approx(0.06, rel=0.25)


def test_bootstrap_agrees_with_resampling_records():
    records = [(3, (3, row % 4), (3, row * 7 % 3)) for row in range(60)]
    differences = np.array([(target[1] - reference[1]) / 3 for _, target, reference in records])
    drawn = np.random.default_rng(1).integers(0, 60, size=(20_000, 60))

    row = by_measure(gaps_of(control=paired(records)), "control")["aucg"]

    bounds = np.quantile(differences[drawn].mean(axis=1), [0.025, 0.975])
    assert (row["low"], row["high"]) == pytest.approx(tuple(bounds), abs=0.02)


def test_agreeing_records_still_give_an_interval_with_width():
    pairs = paired([(3, (4, row % 4), (4, row % 4)) for row in range(30)])

    rows = by_measure(gaps_of(a=pairs, b=pairs), "mean")

    # a kind of record with a share of 11.6 % is missed by 30 records 2.5 % of the time
    unseen = 1 - 0.025 ** (1 / 30)
    for row in rows.values():
        assert (row["value"], row["draws_std"]) == (0, 0)
        assert (row["low"], row["high"]) == pytest.approx((-unseen, unseen))
        assert row["p_value"] == (None if row["measure"] == "aucg_histogram" else 1)


def test_permutations_approximate_the_p_value_of_all_draws_of_the_sets():
    one = [(3, (3, 2), (3, 1)), (4, (4, 3), (4, 1)), (5, (5, 1), (5, 2))]
    other = [(1, (1, 1), (1, 0)), (3, (3, 1), (3, 2)), (2, (2, 2), (2, 2))]
    # recall of A's model minus that of B's, which is the target if records of B are attacked
    gains = [Fraction(t[1] - r[1], truths) for truths, t, r in one]
    gains += [-Fraction(t[1] - r[1], truths) for truths, t, r in other]
    sums = [sum(gains[n] for n in chosen) for chosen in combinations(range(6), 3)]
    differences = [2 * drawn - sum(gains) for drawn in sums]
    expected = sum(abs(each) >= abs(differences[0]) for each in differences) / len(differences)

    row = by_measure(gaps_of(a=paired(one), b=paired(other)), "mean")["aucg"]

    assert row["p_value"] == pytest.approx(expected, abs=0.02)  # 4 standard errors of 9999 draws


def test_permuting_membership_keeps_the_source_of_records():
    """A's model wins on all records of web, B's model on all records of album."""
    one, other = paired(differing(40, 0, 0)), paired(differing(0, 40, 0))
    attacks = {"a": {"web": one, "album": other}, "b": {"web": other, "album": one}}

    row = by_measure(population_gaps(attacks, seed=0), "mean")["prg"]

    assert (row["value"], row["p_value"]) == (0, 1)


def test_the_histogram_form_uses_numpy_bins():
    values = [[0.25, 0.5, 0.5, 1.0], [0.0, 0.5, 0.75, 0.75]]
    areas = []
    for recall in values:
        counts, edges = np.histogram(recall, 100)
        survive = np.cumsum(counts[::-1])[::-1] / len(recall)
        areas.append(edges[0] + (survive * np.diff(edges)).sum())
    records = [(4, (4, int(4 * a)), (4, int(4 * b))) for a, b in zip(*values, strict=True)]

    row = by_measure(gaps_of(a=paired(records)), "a")["aucg_histogram"]

    assert row["value"] == pytest.approx(areas[0] - areas[1], abs=1e-12)


def test_draws_do_not_depend_on_how_many_are_held_in_memory(monkeypatch):
    pairs = paired([(4, (3, row % 4), (5, row * 7 % 5)) for row in range(30)])
    whole = gaps_of(a=pairs, b=pairs)

    monkeypatch.setattr("clipaudit.memorization.resampling._CELLS", 50)

    assert gaps_of(a=pairs, b=pairs).equals(whole)


# --- pairs ---------------------------------------------------------------------------------------


RECORDS = [(2, (1, 1), (2, 0)), (1, (0, 0), (1, 1)), (3, (2, 2), (2, 1))]


@pytest.mark.parametrize(
    ("mine", "theirs"), [([0, 1], [0, 1, 2]), ([0, 1, 2], [0, 1]), ([0, 1], [0, 2])]
)
def test_different_records_are_refused_with_the_first_one(mine, theirs):
    left, right = (
        recalls(RECORDS, 0).take(pa.array(mine)),
        recalls(RECORDS, 1).take(pa.array(theirs)),
    )
    first = min(set(mine) ^ set(theirs))

    with pytest.raises(InputError, match=rf"the record \(shard, row\) \(0, {first}\)"):
        pair_up(left, right)


def test_rows_with_two_values_of_k_are_refused():
    both = pa.concat_tables([recalls(RECORDS, 0, k=10), recalls(RECORDS, 0, k=100)])

    with pytest.raises(InputError, match=r"\(0, 0\) twice; give the rows of one k"):
        pair_up(both, both)


def test_models_tested_with_different_k_or_labels_are_refused():
    with pytest.raises(InputError, match=r"\(0, 0\): k is 10 for the target model and 100 for"):
        pair_up(recalls(RECORDS, 0), recalls(RECORDS, 1, k=100))
    with pytest.raises(InputError, match=r"\(0, 0\): truths is 2 for the target model and 7 for"):
        pair_up(recalls(RECORDS, 0), recalls([(7, *RECORDS[0][1:]), *RECORDS[1:]], 1))


# --- samples -------------------------------------------------------------------------------------


def samples_of(n, uid=lambda row: f"{row % 3}"):
    columns = {
        "shard": pa.array([row // 4 for row in range(n)], pa.int32()),
        "row": pa.array([row % 4 for row in range(n)], pa.int32()),
        "uid": pa.array([uid(row) for row in range(n)], pa.string()),
    }
    return pa.table(columns)


def listed(target, reference, samples):
    first = FirstRecords()
    first.add(target, reference, samples)
    return first.gaps()


def plain_sample_gaps(records):
    kept = [(row, record) for row, record in enumerate(records) if record[0]]
    keys = {
        "similarity": lambda record: record[1][0] or 99,  # similarity falls with the predicted
        "correct": lambda record: -record[1][1],
        "gap": lambda record: record[2][1] - record[1][1],
    }
    for sort, key in keys.items():
        ordered = sorted(kept, key=lambda each: (key(each[1]), f"{each[0] % 3}", each[0]))
        for length in sorted({1, 10, 100, len(kept)}):
            if not 0 < length <= len(kept):
                continue
            means = []
            for model in (0, 1):
                found = [scores(record, model) for _, record in ordered[:length]]
                precision, recall, own = (
                    sum(column) / length for column in zip(*found, strict=True)
                )
                of_means = share(2 * precision * recall, precision + recall)
                means.append((precision, recall, of_means, own))
            for name, target, reference in zip(
                ("precision", "recall", "f_of_means", "mean_f"), *means, strict=True
            ):
                gap = target - reference
                numbers = (float(number) for number in (target, reference, gap))
                yield (sort, length, length / len(kept), name, *numbers)


@given(records_of_two(), st.randoms())
def test_sample_gaps_equal_sorted_and_averaged_fractions(records, random):
    mine, theirs, uids = (
        pa.array(random.sample(range(len(records)), len(records)), pa.int64()) for _ in range(3)
    )

    table = listed(
        recalls(records, 0).take(mine),
        recalls(records, 1).take(theirs),
        samples_of(len(records)).take(uids),
    )

    assert table.schema == SAMPLE_GAPS
    assert [tuple(row.values()) for row in table.to_pylist()] == list(plain_sample_gaps(records))


def test_the_longest_list_has_every_record_once():
    table = listed(*(recalls(RECORDS[:1] * 100, model) for model in (0, 1)), samples_of(100))

    assert sorted(set(table["records"].to_pylist())) == [1, 10, 100]
    assert len(table) == 3 * 3 * 4


def test_a_record_without_sample_is_refused():
    message = r"no sample \(shard, row\) \(0, 2\) among the 2 given, but .* holds a record with it"
    with pytest.raises(InputError, match=message):
        listed(recalls(RECORDS, 0), recalls(RECORDS, 1), samples_of(2))


@given(records_of_two(min_size=1), st.integers(1, 3), st.integers(1, 4))
@settings(deadline=None, max_examples=30)
def test_records_in_several_parts_are_listed_as_in_one_part(records, parts, most):
    left, right, samples = recalls(records, 0), recalls(records, 1), samples_of(len(records))
    whole, pieces = FirstRecords(most), FirstRecords(most)

    whole.add(left, right, samples)
    for part in range(parts):
        rows = pa.array(range(part, len(records), parts), pa.int64())
        pieces.add(left.take(rows), right.take(rows), samples)

    assert pieces.gaps().equals(whole.gaps())
    lengths = set(whole.gaps()["records"].to_pylist())
    evaluated = sum(truths > 0 for truths, *_ in records)
    assert all(length <= most or length == evaluated for length in lengths)
