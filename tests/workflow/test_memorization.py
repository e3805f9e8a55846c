"""The memorization audit of a micro world, with its numbers recomputed in plain Python."""

import itertools
import json
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from microproject import read

SETTINGS = "config/micro_memorization.yaml"
MODELS = {"a": "brief-scenes.set-a", "b": "brief-scenes.set-b"}
SOURCES = ("scenes", "album")
PLACE = ("shard", "row")
RECORD = ("source", *PLACE)


@pytest.fixture(scope="session")
def sized(made_once, remembered):
    """Return this project with models of a second, smaller size, too; for reading only."""
    asked = {"sources": {"scenes": {"sizes": [0.1]}}, "grid": ["size-10pct"]}
    options = ("--config", f"memorization={json.dumps(asked)}")
    return made_once("sized", *options, start=remembered, config=SETTINGS)


def members(project):
    """Return every member of a set with its source and caption."""
    found = []
    for source in SOURCES:
        rows = read(project, f"members/{source}/*").with_columns(source=pl.lit(source))
        samples = read(project, f"samples/{source}.drawn/*").select(*PLACE, "caption")
        found.append(rows.join(samples, on=PLACE))
    return pl.concat(found)


def places(rows):
    return set(rows.select(PLACE).iter_rows())


def labels(project, corpus):
    rows = read(project, f"objects/{corpus}.drawn/*").select(*PLACE, "labels")
    return {(shard, row): set(found) for shard, row, found in rows.iter_rows()}


def scores(project, public, model, k, *, folder="retrieved", sources=SOURCES):
    """Return precision and recall of every record under a model, by (source, shard, row)."""
    shown = labels(project, public)
    found = {}
    for source in sources:
        truths = labels(project, source)
        near = read(project, f"{folder}/{model}/{public}/{source}/*")
        for place, rows in near.filter(pl.col("rank") < k).group_by(PLACE):
            images = rows.select("public_shard", "public_row").iter_rows()
            predicted = set().union(*(shown[image] for image in images))
            right = len(predicted & truths[place])
            precision = Fraction(right, len(predicted)) if predicted else Fraction(0)
            found[source, *place] = precision, Fraction(right, len(truths[place]))
    return found


def population_gap(target, reference, records, which):
    """Return PPG (which = 0) or PRG (which = 1) by their definitions."""
    pairs = [(target[record][which], reference[record][which]) for record in records]
    return (sum(t > r for t, r in pairs) - sum(t < r for t, r in pairs)) / len(pairs)


@pytest.mark.parametrize(("public", "k"), [("scenes", 2), ("scenes", 5)])
def test_gaps_match_the_retrieved_images(remembered, public, k):
    every = members(remembered)
    found = {name: scores(remembered, public, model, k) for name, model in MODELS.items()}
    gaps = read(remembered, f"gaps/{public}/default").filter(k=k, source="")

    for attacked, against in (("a", "b"), ("b", "a")):
        records = every.filter(set=attacked).select(RECORD).rows()
        target, reference = found[attacked], found[against]
        recalls = [target[record][1] - reference[record][1] for record in records]

        ppg, prg, aucg = (gaps.filter(target=attacked, measure=it) for it in ("ppg", "prg", "aucg"))
        for which, rows in enumerate((ppg, prg)):
            expected = population_gap(target, reference, records, which)
            assert rows["value"].item() == pytest.approx(expected, abs=1e-15)
        assert aucg["value"].item() == float(sum(recalls) / len(recalls))
        assert ppg["evaluated"].item() == len(records)


def cosines(project, model):
    """Return the cosine of caption and image of each of the scenes' records, by (shard, row)."""
    vectors = [
        {
            (row["shard"], row["row"]): np.frombuffer(row["embedding"], "<f2").astype(float)
            for row in read(project, f"{folder}/{model}/scenes.records/*").iter_rows(named=True)
        }
        for folder in ("caption_embeddings", "embeddings")
    ]
    captions, pictures = vectors
    return {
        at: captions[at]
        @ pictures[at]
        / np.linalg.norm(captions[at])
        / np.linalg.norm(pictures[at])
        for at in captions
    }


@pytest.mark.parametrize(("attacked", "against"), [("a", "b"), ("b", "a")])
def test_a_pair_test_ranks_members_and_holdout_by_their_cosines(remembered, attacked, against):
    every = members(remembered).filter(source="scenes")
    own, other = (cosines(remembered, MODELS[name]) for name in (attacked, against))
    test = read(remembered, f"pair_tests/{MODELS[attacked]}/scenes/scenes")

    for score, value in {
        "target": own,
        "difference": {at: own[at] - other[at] for at in own},
        "reference": other,
    }.items():
        inside, outside = (
            [value[at] for at in every.filter(set=name).select(PLACE).iter_rows()]
            for name in (attacked, "holdout")
        )
        wins = [(one > two) + (one == two) / 2 for one in inside for two in outside]
        auc = test.filter(score=score, measure="auc")["value"].item()
        assert auc == pytest.approx(np.mean(wins), abs=1e-12)


@pytest.mark.parametrize("k", [2, 5])
def test_one_model_is_compared_with_the_nearest_captions_and_with_a_second_model(remembered, k):
    every = members(remembered).filter(source="scenes")
    of = {"sources": ["scenes"]}
    target, model = (scores(remembered, "scenes", MODELS[name], k, **of) for name in "ab")
    captions = scores(remembered, "scenes", MODELS["a"], k, folder="retrieved_captions", **of)
    found = read(remembered, f"one_model/{MODELS['a']}/scenes/scenes")
    found = found.filter(k=k, measure="aucg")

    for name, reference in {"captions": captions, "model": model}.items():
        gaps = {at: float(target[at][1] - reference[at][1]) for at in target}
        inside, outside = (
            np.mean([gaps[at] for at in every.filter(set=part).select(RECORD).iter_rows()])
            for part in ("a", "holdout")
        )
        for part, value in (("members", inside), ("net", inside - outside)):
            stated = found.filter(reference=name, part=part)["value"].item()
            assert stated == pytest.approx(value, abs=1e-12)


def test_a_single_record_counts_as_many_objects_as_the_settings_say(remembered):
    recalls = read(remembered, "recalls/*/scenes/scenes/*")

    assert recalls["top_predicted"].max() == 2
    assert recalls["predicted"].max() > 2


def test_the_answer_counts_neither_splits_nor_corpora_that_no_table_reads(remembered):
    told = json.loads(remembered.clipaudit("answers", SETTINGS, "--format", "json"))

    images = {name: each["images"] for name, each in told["corpora"].items()}
    assert images == {name: len(read(remembered, f"samples/{name}/*")) for name in SOURCES}


def test_no_two_sets_share_a_uid_or_a_caption(remembered):
    every = members(remembered)
    for one, other in itertools.combinations(("a", "b", "public", "holdout"), 2):
        first, second = every.filter(set=one), every.filter(set=other)

        assert not set(first["uid"]) & set(second["uid"])
        assert not set(first["caption"].drop_nulls()) & set(second["caption"].drop_nulls())


def test_every_sample_is_in_one_set_or_has_a_reason(remembered):
    pool = read(remembered, "samples/scenes/*")
    kept = 0
    for name in ("a", "b", "public", "holdout"):
        manifest = read(remembered, f"manifests/scenes/set-{name}/*")

        assert len(manifest) == len(pool)
        assert manifest["kept"].equals(manifest["reason"].is_null())
        kept += manifest["kept"].sum()
    assert kept == len(members(remembered).filter(source="scenes"))


def test_planted_overlaps_are_found_and_none_remains(remembered):
    rows = read(remembered, "tables/memorization_overlaps")

    checked = rows.filter(pl.col("how") != "near duplicate")  # no encoder sees images here
    assert checked["removed"].sum() > 0
    assert set(checked["remaining"]) == {0}
    drawn, stayed, left = (
        len(read(remembered, f"{folder}/*/*")) for folder in ("drawn", "members", "drops/overlaps")
    )
    assert drawn == stayed + left
    assert left > 0


@pytest.mark.slow
def test_a_smaller_set_is_the_first_part_of_a_larger_one(sized):
    large, small = (read(sized, f"manifests/scenes/set-a{size}/*") for size in ("", "-10pct"))

    assert places(small.filter("kept")) < places(large.filter("kept"))
    assert "beyond the size of the set" in set(small["reason"])


@pytest.mark.slow
def test_a_model_is_tested_only_on_records_of_its_own_size(sized):
    def kept(*sets):
        manifests = [read(sized, f"manifests/scenes/set-{name}/*") for name in sets]
        return places(pl.concat(manifests).filter("kept"))

    asked = {
        size: places(read(sized, f"recalls/brief-scenes.set-a{size}/scenes/scenes/*"))
        for size in ("", "-10pct")
    }

    assert asked["-10pct"] == kept("a-10pct", "b-10pct", "holdout") < asked[""]
    assert asked[""] == kept("a", "b", "holdout")


def test_a_second_run_has_nothing_to_do(memorizing):
    assert "Nothing to be done" in memorizing.run(config=SETTINGS)


@pytest.mark.slow
def test_a_new_grid_point_runs_only_its_own_training_and_metrics(memorizing):
    memorizing.edit(SETTINGS, "grid: []", "grid: [token-masking-0.3]")
    before, digests = memorizing.computed(), memorizing.digests()

    memorizing.run(config=SETTINGS)

    steps = [
        step
        for step in memorizing.computed_steps(before)
        if not step.startswith(("report", "draw_table", "draw_figure"))
    ]
    of_each_model = {"embed": 3, "embed_captions": 2, "recall": 2, "retrieve": 2, "select": 1}
    of_each_model |= {"pair_test": 2, "score_pairs": 2}  # on the scenes and on the album
    expected = {step: 2 * jobs for step, jobs in of_each_model.items()} | {"measure": 1, "train": 2}
    assert Counter(steps) - Counter(catalog=1) == Counter(expected)
    changed = {path for path, digest in memorizing.digests().items() if digests.get(path) != digest}
    assert all("token-masking" in path for path in changed if path.startswith(("gaps", "recalls")))


@pytest.mark.long
def test_a_lost_checkpoint_is_one_clear_error(memorizing):
    """The store loses the training run and everything taken from it."""
    early = "encoders: {early: {model: brief-scenes/set-a, epoch: 1}}\n"
    memorizing.edit(SETTINGS, "\nmemorization:", f"\n{early}\nmemorization:")
    target = "results_micro/checkpoints/brief-scenes/set-a/1.json"
    memorizing.run(config=SETTINGS, target=target)
    (memorizing.folder / target).unlink()
    for path in (memorizing.store / "actions").rglob("*.json"):
        if "epochs/0000" in path.read_text() or '"checkpoint"' in path.read_text():
            path.unlink()

    output = memorizing.run(config=SETTINGS, target=target, ok=False)

    assert "the store has no output epochs/0000 of the action that made it" in output


@pytest.mark.slow
def test_other_parts_give_the_same_metrics(memorizing):
    gaps = {
        path: digest for path, digest in memorizing.digests().items() if path.startswith("gaps")
    }
    memorizing.edit(SETTINGS, "shards_per_part: 3", "shards_per_part: 1")

    memorizing.run(config=SETTINGS)

    again = memorizing.digests()
    assert {path: again[path] for path in gaps} == gaps


def cut_members(project, source, cut):
    """Return the records of each set of a cut, by (source, shard, row)."""
    suffix = f"-cut-{cut}" if cut else ""
    found = {}
    for name in ("a", "b", "holdout"):
        rows = read(project, f"manifests/{source}/set-{name}{suffix}/*").filter("kept")
        found[name] = {(source, *place) for place in places(rows)}
    return found


@pytest.mark.slow
def test_a_second_random_seed_cuts_the_same_records_and_gaps_are_averaged(memorizing):
    gaps = {
        path: digest for path, digest in memorizing.digests().items() if path.startswith("gaps")
    }
    memorizing.edit(SETTINGS, "recipe: brief-scenes", "recipe: brief-scenes\n  seeds: 2")

    memorizing.run(config=SETTINGS)

    assert gaps.items() <= memorizing.digests().items()
    models = [("brief-scenes", ""), ("brief-scenes.seed-1", "-cut-1")]
    values = []
    for cut, (recipe, suffix) in enumerate(models):
        sets = [cut_members(memorizing, source, cut) for source in SOURCES]
        joined = {name: set().union(*(each[name] for each in sets)) for name in sets[0]}
        if cut == 0:
            first = joined
        found = [scores(memorizing, "scenes", f"{recipe}.set-{name}{suffix}", 5) for name in "ab"]
        means = [
            sum((found[0][at][1] - found[1][at][1] for at in joined[name]), Fraction(0))
            / len(joined[name])
            for name in "ab"
        ]
        values.append(float(means[0] - means[1]) / 2)
    assert set().union(*first.values()) == set().union(*joined.values())
    assert {name: len(held) for name, held in first.items()} == {
        name: len(held) for name, held in joined.items()
    }
    assert first["a"] != joined["a"]
    table = read(memorizing, "ensemble_gaps/scenes/default").filter(k=5, source="")
    [row] = table.filter(target="mean", measure="aucg").iter_rows(named=True)
    assert row["by_seed"] == pytest.approx(values, abs=1e-11)
    assert row["low"] < row["value"] < row["high"]
    records = read(memorizing, "ensemble_records/scenes/default").filter(k=5)
    assert len(records) == sum(map(len, first.values()))
