"""The numbers of the parrot audit of a micro world, recomputed in plain Python."""

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest
from microproject import read
from parrotworld import (
    ADDRESS,
    HELDOUT,
    SETS,
    SPANS,
    WORDS,
    addresses,
    heldout_members,
    manifest,
    members,
    pictures,
    scored,
)
from plaincosines import plain_cosines


def near_candidates(project):
    """Return, for each candidate of the debiased subset, the others in its cluster above 0.9999."""
    rows = read(project, "candidates/own/posters/*")
    near = {}
    for _, cluster in rows.group_by("cluster"):
        places = cluster.select(ADDRESS).rows()
        units = np.stack([np.frombuffer(each, np.float16) for each in cluster["embedding"]])
        similar = plain_cosines(units, units) > 0.9999
        for place, flags in zip(places, similar, strict=True):
            others = {other for other, flag in zip(places, flags, strict=True) if flag}
            near[place] = others - {place}
    return near


# --- text in images, and in their captions -------------------------------------------------------


@pytest.mark.parametrize("tokenization", ["plain", "words"])
@pytest.mark.parametrize("corpus", ["posters", "notices"])
def test_rates_match_algorithm_1(parroted, corpus, tokenization):
    split = WORDS[tokenization]
    for row in pictures(parroted, corpus).iter_rows(named=True):
        caption_words = set(split(row["caption"]))
        spotted_words = set(split(" ".join(row["texts"])))
        co_words = caption_words & spotted_words

        assert row["spans"] == len(row["texts"])
        assert row[f"{tokenization}_co"] == sorted(co_words)
        assert row[f"{tokenization}_rate"] == len(co_words) / len(caption_words)


@pytest.mark.parametrize("tokenization", ["plain", "words"])
@pytest.mark.parametrize("corpus", ["posters", "notices"])
def test_table_1_counts_and_averages_the_matches(parroted, corpus, tokenization):
    table = read(parroted, "tables/parrot_table1").filter(corpus=corpus)
    rows = pictures(parroted, corpus).to_dicts()
    with_text = [row for row in rows if row["spans"]]
    expected = {("images", "count"): len(rows), ("with_text", "count"): len(with_text)}
    expected["with_text", "share"] = len(with_text) / len(rows)
    for measure in ("rate", "fuzzy_rate"):
        rates, textual = (
            [row[f"{tokenization}_{measure}"] for row in some] for some in (rows, with_text)
        )
        expected[measure, "share"] = sum(rates) / len(rates)
        expected[f"{measure}_with_text", "share"] = sum(textual) / len(textual)
    parroting = sum(len(row[f"{tokenization}_co"]) > 0 for row in with_text)
    expected["parroting", "share"] = parroting / len(with_text)

    values = {
        (row["measure"], row["unit"]): row["value"]
        for row in table.iter_rows(named=True)
        if row["tokenization"] in (None, tokenization)
    }

    assert {key: values[key] for key in expected} == pytest.approx(expected, abs=1e-12)


def test_the_truth_table_matches_what_the_world_wrote(parroted):
    table = read(parroted, "tables/parrot_truth").filter(corpus="posters", height="all")
    files = sorted(parroted.folder.glob("data/words/posters/*.truth.parquet"))
    written = [text for file in files for text in pl.read_parquet(file)["text"]]

    spotted = pictures(parroted, "posters")["texts"]
    pairs = [pair for pair in zip(written, spotted, strict=True) if pair[0] is not None]
    found = sum(word.casefold() in WORDS["words"](" ".join(texts)) for word, texts in pairs)

    assert table.select("pictures", "words", "found").rows() == [(len(written), len(pairs), found)]
    assert table["recall"].item() == found / len(pairs) > 0.5


def test_every_sample_is_spotted_or_dropped(parroted):
    for corpus in ("posters", "notices"):
        samples, spans, drops = (
            Counter(read(parroted, f"{folder}/{corpus}/*").select(ADDRESS).iter_rows())
            for folder in ("samples", "spans", "drops/spot")
        )

        assert samples == spans + drops
        assert set(samples.values()) == {1}


def test_every_spotted_image_is_scored_or_dropped(parroted):
    spans, scores, drops = (
        Counter(read(parroted, f"{folder}/posters/*").select(ADDRESS).iter_rows())
        for folder in ("spans", "caption_scores/own", "drops/caption_scores/own")
    )

    assert spans == scores + drops


# --- scores ---------------------------------------------------------------------------------------


def test_a_score_without_text_is_null_exactly_if_there_is_no_text(parroted):
    rows = scored(parroted)

    assert rows["all"].is_null().equals(rows["spans"] == 0)
    assert rows["co"].is_null().equals(rows["words_co"].list.len() == 0)
    assert rows["random_all"].is_null().equals(rows["donor_row"].is_null())
    assert rows["random_co"].is_null().equals(rows["co_donor_row"].is_null())


def test_donors_are_other_images_of_the_shard_that_have_such_text(parroted):
    rows = scored(parroted)
    parrots = pl.col("words_co").list.len() > 0
    for donor, has in (("donor_row", SPANS > 0), ("co_donor_row", parrots)):
        able = addresses(rows.filter(has))
        given = rows.drop_nulls(donor)

        assert addresses(given) == able
        for shard, row, other in given.select(*ADDRESS, donor).iter_rows():
            assert other != row
            assert (shard, other) in able


def test_figure_1_counts_the_kinds_of_images_among_the_best(parroted):
    rows = scored(parroted).sort(-pl.col("raw"), *ADDRESS, nulls_last=True)
    kinds = [
        "none" if spans == 0 else "co" if words else "apart"
        for spans, words in rows.select("spans", "words_co").iter_rows()
    ]
    expected = {("all", kind): count for kind, count in Counter(kinds).items()}
    expected |= {("top", kind): count for kind, count in Counter(kinds[:6]).items()}  # 5 % of 120

    table = read(parroted, "figures/parrot_fig1_posters").filter(pl.col("pictures") > 0)
    counts = table.select("selection", "kind", "pictures").iter_rows()

    assert {(selection, kind): count for selection, kind, count in counts} == expected


# --- sets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "size"), [*((name, 2) for name in HELDOUT), *((name, 8) for name in SETS)]
)
def test_a_set_has_its_size_and_each_sample_meets_the_criterion(parroted, name, size):
    meets = addresses(scored(parroted).filter((HELDOUT | SETS)[name]))
    heldout = set() if name in HELDOUT else heldout_members(parroted)

    rows = manifest(parroted, name)
    by_reason = {reason: addresses(each) for (reason,), each in rows.group_by("reason")}

    assert rows["kept"].sum() == size
    assert rows["kept"].equals(rows["reason"].is_null())
    assert by_reason[None] | by_reason["not drawn"] == meets - heldout
    assert by_reason.get("held out", set()) == heldout


def test_sets_take_samples_in_one_shared_order(parroted):
    """If both sets could take either of two samples, each set takes the same one first."""
    rows = scored(parroted)
    heldout = heldout_members(parroted)
    for one, other in itertools.combinations(SETS, 2):
        both = addresses(rows.filter(SETS[one], SETS[other])) - heldout
        first, second = (members(parroted, name) & both for name in (one, other))

        assert first <= second or second <= first


def test_the_debiased_subset_has_no_text_and_no_duplicates(parroted):
    rows, kept = scored(parroted), manifest(parroted, "debiased")
    heldout = heldout_members(parroted)
    near = near_candidates(parroted)
    duplicates = addresses(kept.filter(reason="duplicate"))

    stayed = members(parroted, "debiased")

    assert stayed | duplicates == addresses(rows.filter(SPANS == 0)) - heldout == set(near)
    assert all(not near[place] & stayed for place in stayed)
    assert all(near[place] for place in duplicates)
    assert duplicates
