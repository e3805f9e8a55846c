"""The numbers of the parrot audit of a micro world, recomputed in plain Python."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from microproject import read
from parrotworld import (
    ADDRESS,
    HELDOUT,
    SETS,
    WORDS,
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
    for _, cluster in rows.groupby("cluster"):
        places = list(zip(cluster.shard, cluster.row, strict=True))
        units = np.stack([np.frombuffer(each, np.float16) for each in cluster.embedding])
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
    for row in pictures(parroted, corpus).to_dict("records"):
        caption_words = set(split(row["caption"]))
        spotted_words = set(split(" ".join(row["texts"])))
        co_words = caption_words & spotted_words

        assert row["spans"] == len(row["texts"])
        assert list(row[f"{tokenization}_co"]) == sorted(co_words)
        assert row[f"{tokenization}_rate"] == len(co_words) / len(caption_words)


@pytest.mark.parametrize("tokenization", ["plain", "words"])
@pytest.mark.parametrize("corpus", ["posters", "notices"])
def test_table_1_counts_and_averages_the_matches(parroted, corpus, tokenization):
    table = read(parroted, "tables/parrot_table1").query(f"corpus == '{corpus}'")
    rows = pictures(parroted, corpus).to_dict("records")
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

    own = table[table.tokenization.isna() | (table.tokenization == tokenization)]
    values = own.set_index(["measure", "unit"]).value

    assert values[list(expected)].to_dict() == pytest.approx(expected, abs=1e-12)


def test_the_truth_table_matches_what_the_world_wrote(parroted):
    table = read(parroted, "tables/parrot_truth").set_index(["corpus", "height"])
    files = sorted(parroted.folder.glob("data/words/posters/*.truth.parquet"))
    written = [text for file in files for text in pd.read_parquet(file).text]

    spotted = pictures(parroted, "posters").texts
    pairs = [pair for pair in zip(written, spotted, strict=True) if isinstance(pair[0], str)]
    found = sum(word.casefold() in WORDS["words"](" ".join(texts)) for word, texts in pairs)

    row = table.loc["posters", "all"]
    assert (row.pictures, row.words, row.found) == (len(written), len(pairs), found)
    assert row.recall == found / len(pairs) > 0.5


def test_every_sample_is_spotted_or_dropped(parroted):
    for corpus in ("posters", "notices"):
        samples, spans, drops = (
            Counter(zip(rows.shard, rows.row, strict=True))
            for rows in (
                read(parroted, f"{folder}/{corpus}/*")
                for folder in ("samples", "spans", "drops/spot")
            )
        )

        assert samples == spans + drops
        assert set(samples.values()) == {1}


def test_every_spotted_image_is_scored_or_dropped(parroted):
    spans, scores, drops = (
        Counter(zip(rows.shard, rows.row, strict=True))
        for rows in (
            read(parroted, f"{folder}/posters/*")
            for folder in ("spans", "caption_scores/own", "drops/caption_scores/own")
        )
    )

    assert spans == scores + drops


# --- scores ---------------------------------------------------------------------------------------


def test_a_score_without_text_is_null_exactly_if_there_is_no_text(parroted):
    rows = scored(parroted)

    assert (rows["all"].isna() == (rows.spans == 0)).all()
    assert (rows.co.isna() == (rows.words_co.str.len() == 0)).all()
    assert (rows.random_all.isna() == rows.donor_row.isna()).all()
    assert (rows.random_co.isna() == rows.co_donor_row.isna()).all()


def test_donors_are_other_images_of_the_shard_that_have_such_text(parroted):
    rows = scored(parroted)
    parrots = rows.words_co.str.len() > 0
    for donor, has in (("donor_row", rows.spans > 0), ("co_donor_row", parrots)):
        given = rows[donor].dropna().astype(int)

        assert set(given.index) == set(rows.index[has])
        for (shard, row), other in given.items():
            assert other != row
            assert has[shard, other]


def test_figure_1_counts_the_kinds_of_images_among_the_best(parroted):
    rows = scored(parroted).sort_values(["raw", *ADDRESS], ascending=[False, True, True])
    kind = np.where(rows.spans == 0, "none", np.where(rows.words_co.str.len() > 0, "co", "apart"))
    expected = {("all", each): count for each, count in Counter(kind).items()}
    expected |= {("top", each): count for each, count in Counter(kind[:6]).items()}  # 5 % of 120

    table = read(parroted, "figures/parrot_fig1_posters").set_index(["selection", "kind"])

    assert table.pictures[table.pictures > 0].to_dict() == expected


# --- sets -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "size"), [*((name, 2) for name in HELDOUT), *((name, 8) for name in SETS)]
)
def test_a_set_has_its_size_and_each_sample_meets_the_criterion(parroted, name, size):
    rows = scored(parroted)
    meets = (HELDOUT | SETS)[name](rows)
    heldout = set() if name in HELDOUT else heldout_members(parroted)

    kept = manifest(parroted, name)
    by_reason = kept.groupby(kept.reason.fillna("kept")).groups

    assert len(by_reason["kept"]) == size
    assert kept.kept.equals(kept.reason.isna())
    assert set(by_reason["kept"]) | set(by_reason["not drawn"]) == set(rows.index[meets]) - heldout
    assert set(by_reason.get("held out", ())) == heldout


def test_sets_take_samples_in_one_shared_order(parroted):
    """If both sets could take either of two samples, each set takes the same one first."""
    rows = scored(parroted)
    heldout = heldout_members(parroted)
    for one, other in itertools.combinations(SETS, 2):
        both = set(rows.index[SETS[one](rows) & SETS[other](rows)]) - heldout
        first, second = (members(parroted, name) & both for name in (one, other))

        assert first <= second or second <= first


def test_the_debiased_subset_has_no_text_and_no_duplicates(parroted):
    rows, kept = scored(parroted), manifest(parroted, "debiased")
    heldout = heldout_members(parroted)
    near = near_candidates(parroted)
    duplicates = set(kept.index[kept.reason == "duplicate"])

    stayed = members(parroted, "debiased")

    assert stayed | duplicates == set(rows.index[rows.spans == 0]) - heldout == set(near)
    assert all(not near[place] & stayed for place in stayed)
    assert all(near[place] for place in duplicates)
    assert duplicates
