from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from clipaudit.memorization.ensemble_gaps import ENSEMBLE_GAPS, ensemble_gaps
from clipaudit.memorization.ensembles import EnsemblePart, SeedPart
from clipaudit.memorization.false_alarms import World, recalls, simulated
from clipaudit.memorization.measures import AttackedPart, measure
from clipaudit.memorization.recall import RECALLS

SAMPLES = pa.table(
    {
        "shard": pa.array([0] * 60, pa.int32()),
        "row": pa.array(range(60), pa.int32()),
        "uid": [f"{n:032x}" for n in range(60)],
    }
)


def world(*, records=60, **changes):
    return World(records=records, **changes)


def gaps(*parts, sources=("simulated",)):
    table = ensemble_gaps(parts, sources, neighbors=[10])
    assert table.schema == ENSEMBLE_GAPS
    return {(row["source"], row["target"], row["measure"]): row for row in table.to_pylist()}


def test_the_gap_of_each_seed_depends_only_on_its_models():
    part = simulated(np.random.default_rng(0), world(memorized=0.3))

    rows = gaps(part)

    for n, seed in enumerate(part.seeds):
        recalls = {"a": seed.recalls_a, "b": seed.recalls_b}
        alone = measure(
            [AttackedPart("simulated", recalls, seed.kept, SAMPLES)],
            neighbors=[10],
            shards={"simulated": 1},
            seed=0,
        ).gaps.to_pylist()
        for row in alone:
            if row["measure"] != "aucg_histogram":
                value = row["net"] if row["target"] in "ab" else row["value"]
                found = rows["", row["target"], row["measure"]]["by_seed"][n]
                assert found == pytest.approx(value, abs=1e-11)


def test_the_value_is_the_mean_over_seeds_and_is_within_its_interval():
    for row in gaps(simulated(np.random.default_rng(1), world())).values():
        assert row["value"] == pytest.approx(np.mean(row["by_seed"]))
        assert row["low"] < row["value"] < row["high"]
        assert row["seeds"] == 4


def test_parts_of_a_source_add_up():
    part = simulated(np.random.default_rng(2), world(memorized=0.2))
    pieces = []
    for rows in (range(20), range(20, 60)):
        taken = pa.array(rows)
        pieces.append(
            EnsemblePart(
                "simulated",
                [
                    SeedPart(
                        seed.recalls_a.take(taken),
                        seed.recalls_b.take(taken),
                        {name: table.take(taken) for name, table in seed.kept.items()},
                    )
                    for seed in part.seeds
                ],
            )
        )

    whole = ensemble_gaps([part], ["simulated"], neighbors=[10])
    found = ensemble_gaps(pieces[::-1], ["simulated"], neighbors=[10])

    for name in ("value", "low", "high"):
        assert np.array(found[name]) == pytest.approx(np.array(whole[name]), abs=1e-11)


def test_a_part_without_any_labelled_image_changes_nothing():
    part = simulated(np.random.default_rng(2), world(memorized=0.2))
    none = pa.array(np.zeros(60), pa.int32())
    place = RECALLS.get_field_index("truths")
    seeds = [
        SeedPart(
            seed.recalls_a.set_column(place, RECALLS.field(place), none),
            seed.recalls_b.set_column(place, RECALLS.field(place), none),
            seed.kept,
        )
        for seed in part.seeds
    ]

    assert gaps(part) == gaps(part, EnsemblePart("simulated", seeds))


def test_the_interval_over_records_equals_resampling_them():
    part = simulated(np.random.default_rng(3), world(seeds=1, records=600, memorized=0.3))
    row = gaps(part)["", "control", "aucg"]

    (seed,) = part.seeds
    inside = np.array(seed.kept["holdout"]["kept"])
    gain = (np.array(seed.recalls_a["correct"]) - np.array(seed.recalls_b["correct"]))[inside] / 3
    drawn = np.random.default_rng(0).integers(0, len(gain), (20_000, len(gain)))

    low, high = np.quantile(gain[drawn].mean(axis=1), [0.025, 0.975])
    assert (row["high"] - row["low"]) / 2 == pytest.approx((high - low) / 2, rel=0.1)


def test_the_interval_of_a_net_gap_reaches_beyond_1():
    seeds = []
    for seed in simulated(np.random.default_rng(6), world()).seeds:
        wins = 3 * ~np.array(seed.kept["holdout"]["kept"])  # of A's model, by three labels
        seeds.append(SeedPart(recalls(wins), recalls(3 - wins), seed.kept))

    row = gaps(EnsemblePart("simulated", seeds))["", "a", "prg"]

    assert row["value"] == row["high"] == 2
    assert 1.5 < row["low"] < 2


def test_a_source_without_a_holdout_has_only_the_mean():
    part = simulated(np.random.default_rng(4), world())
    without = [
        SeedPart(seed.recalls_a, seed.recalls_b, {name: seed.kept[name] for name in "ab"})
        for seed in part.seeds
    ]

    rows = gaps(EnsemblePart("simulated", without))

    assert {target for _, target, _ in rows} == {"mean"}


def fewer(part, source, name):
    """Return the part with a tenth of the records of a set."""
    seeds = []
    for seed in part.seeds:
        inside = np.array(seed.kept[name]["kept"]) & (np.arange(len(seed.kept[name])) % 10 == 0)
        table = seed.kept[name].set_column(2, "kept", pa.array(inside))
        seeds.append(replace(seed, kept=seed.kept | {name: table}))
    return EnsemblePart(source, seeds)


def test_all_sources_together_weight_the_holdout_as_the_direction():
    web = simulated(np.random.default_rng(7), world(records=300, ahead=0.3))
    album = simulated(np.random.default_rng(8), world(records=300, ahead=-0.3))
    parts = [fewer(web, "web", "holdout"), fewer(album, "album", "a")]

    table = ensemble_gaps(parts, ["web", "album"], neighbors=[10]).to_pylist()

    rows = {row["source"]: row for row in table if (row["target"], row["measure"]) == ("a", "prg")}
    of_a = [np.sum(np.array(part.seeds[0].kept["a"]["kept"])) for part in parts]
    expected = np.average([rows[name]["by_seed"][0] for name in ("web", "album")], weights=of_a)
    assert rows[""]["by_seed"][0] == pytest.approx(expected)
    assert rows[""]["low"] < 0 < rows[""]["high"]


def test_a_change_compares_models_of_the_same_split_seed_by_seed():
    rng = np.random.default_rng(5)
    part = simulated(rng, world(memorized=0.4))
    same = [
        SeedPart(seed.recalls_a, seed.recalls_b, seed.kept, (seed.recalls_a, seed.recalls_b))
        for seed in part.seeds
    ]

    row = gaps(EnsemblePart("simulated", same))["", "mean", "prg"]

    assert row["change"] == 0
    assert row["change_low"] < 0 < row["change_high"]
    assert row["change_high"] < row["high"] - row["value"]  # noise that both share cancels
