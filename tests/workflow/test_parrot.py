"""The parrot audit of a micro world, and its numbers once more, by plain Python."""

import itertools
import re
import shutil
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from conftest import Project
from tinyclip import picture, write_shard

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.reports.parrot_curated import curated_tables
from clipaudit.reports.parrot_galleries import parrot_galleries
from clipaudit.reports.parrot_inspected_figures import inspected_figures
from clipaudit.reports.parrot_probe_figures import probe_figures
from clipaudit.reports.parrot_profile import profile_tables

SETTINGS = "config/micro_parrot.yaml"
ADDRESS = ["shard", "row"]
WORDS = {"plain": str.split, "words": lambda text: re.findall(r"[^\W_]+", text.casefold())}

# What a set asks of a sample: the criteria of the paper, each in a line.
HELDOUT = {
    "heldout-without-text": lambda it: it.spans == 0,
    "heldout-parrot": lambda it: (it.spans > 0) & (it.raw - it.co > -1),
}
SETS = {
    "random-8": lambda it: it.spans >= 0,
    "without-text-8": lambda it: it.spans == 0,
    "with-text-8": lambda it: it.spans > 0,
    "cotr-0.2-8": lambda it: (it.spans > 0) & (it.words_rate >= 0.2),
    "rsa-0-8": lambda it: (it.spans > 0) & (it.raw - it["all"] >= 0),
    "rsc-0-8": lambda it: (it.spans > 0) & (it.raw - it.co >= 0),
}
MADE = " ".join(
    f"results_micro/{path}.json"
    for path in (
        "tables/parrot_table1",
        "tables/parrot_truth",
        "figures/parrot_fig1_posters",
        "models/brief/cotr-0.2-8",
        *(
            f"manifests/posters/{name}/{part}"
            for name in (*HELDOUT, *SETS, "debiased")
            for part in ("00000", "00001")
        ),
    )
)


@pytest.fixture(scope="session")
def parroted(made_once):
    """A project with a profile, curated sets and one model; for reading only."""
    return made_once("parroted", config=SETTINGS, target=MADE)


@pytest.fixture
def project(parroted, tmp_path):
    """A copy of that project, for a test to change."""
    return copied(parroted, tmp_path)


@pytest.fixture(scope="session")
def complete(made_once):
    """A project whose tables and figures of this audit are all made; for reading only."""
    first = "results_micro/tables/parrot_table2.json"
    project = made_once("parroted_complete", config=SETTINGS, target=first)
    for target in ("all_tables", "all_tables all_figures"):  # one run alone would take too long
        project.run(config=SETTINGS, target=target)
    return project


def copied(made, folder):
    shutil.copytree(made.folder, folder / "project", symlinks=True)
    return Project(folder / "project")


def read(project, pattern):
    files = sorted(project.results.glob(f"{pattern}.parquet"))
    assert files, pattern
    return pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)


def pictures(project, corpus):
    """Every spotted picture, with its caption, the texts in it, and how they match."""
    spans = read(project, f"spans/{corpus}/*")
    spans["texts"] = [[span["text"] for span in each] for each in spans.pop("spans")]
    samples = read(project, f"samples/{corpus}/*")
    found = samples.merge(spans, on=ADDRESS)
    return found.merge(read(project, f"matches/{corpus}/*"), on=ADDRESS)


def scored(project):
    """Every picture of the posters with what its caption scores, by its address."""
    scores = read(project, "caption_scores/own/posters/*")
    kinds = ["raw", "all", "co", "random_all", "random_co"]
    scores[kinds] = scores[kinds].astype(float)  # differences are taken of doubles
    return pictures(project, "posters").merge(scores, on=ADDRESS, how="left").set_index(ADDRESS)


def manifest(project, name):
    return read(project, f"manifests/posters/{name}/*").set_index(ADDRESS)


def members(project, name):
    return set(manifest(project, name).query("kept").index)


def heldout_members(project):
    return set().union(*(members(project, name) for name in HELDOUT))


def near_candidates(project):
    """For each sample that may be debiased, the others of its cluster that are too similar."""
    rows = read(project, "candidates/own/posters/*")
    near = {}
    for _, cluster in rows.groupby("cluster"):
        places = list(zip(cluster.shard, cluster.row, strict=True))
        units = np.stack([np.frombuffer(each, np.float16) for each in cluster.embedding])
        similar = units.astype(float) @ units.astype(float).T > 0.9999
        for place, flags in zip(places, similar, strict=True):
            others = {other for other, flag in zip(places, flags, strict=True) if flag}
            near[place] = others - {place}
    return near


def add_corpus(project, name, shards):
    """Profile one more corpus, which no world makes."""
    project.edit(SETTINGS, "corpora: [posters, notices]", f"corpora: [posters, notices, {name}]")
    project.edit(SETTINGS, "\narchitectures:", f"  {name}: {{shards: {shards}}}\n\narchitectures:")


def suite(folder):
    """One of DataComp's tasks, in CLIP_benchmark's form: twelve pictures of three classes."""
    rng = np.random.default_rng(0)
    samples = [{"cls": str(row % 3).encode(), "png": picture(rng)} for row in range(12)]
    (folder / "vtab/flowers/test").mkdir(parents=True)
    for name, text in {
        "classnames.txt": "rose\nlily\npoppy",
        "zeroshot_classification_templates.txt": "a photo of a {c}",
        "test/nshards.txt": "1",
    }.items():
        (folder / "vtab/flowers" / name).write_text(text)
    write_shard(folder / "vtab/flowers/test/0.tar", samples)


# --- text in pictures, and in their captions ------------------------------------------------------


@pytest.mark.parametrize("tokenization", ["plain", "words"])
@pytest.mark.parametrize("corpus", ["posters", "notices"])
def test_rates_are_those_of_algorithm_1(parroted, corpus, tokenization):
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


def test_truth_is_what_the_world_wrote(parroted):
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


def test_every_spotted_picture_is_scored_or_dropped(parroted):
    spans, scores, drops = (
        Counter(zip(rows.shard, rows.row, strict=True))
        for rows in (
            read(parroted, f"{folder}/posters/*")
            for folder in ("spans", "caption_scores/own", "drops/caption_scores/own")
        )
    )

    assert spans == scores + drops


# --- scores ---------------------------------------------------------------------------------------


def test_a_score_without_text_is_null_exactly_where_there_is_none(parroted):
    rows = scored(parroted)

    assert (rows["all"].isna() == (rows.spans == 0)).all()
    assert (rows.co.isna() == (rows.words_co.str.len() == 0)).all()
    assert (rows.random_all.isna() == rows.donor_row.isna()).all()
    assert (rows.random_co.isna() == rows.co_donor_row.isna()).all()


def test_donors_are_other_pictures_of_the_shard_that_have_such_text(parroted):
    rows = scored(parroted)
    parrots = rows.words_co.str.len() > 0
    for donor, has in (("donor_row", rows.spans > 0), ("co_donor_row", parrots)):
        given = rows[donor].dropna().astype(int)

        assert set(given.index) == set(rows.index[has])
        for (shard, row), other in given.items():
            assert other != row
            assert has[shard, other]


def test_figure_1_counts_the_kinds_of_pictures_among_the_best(parroted):
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
def test_a_set_has_its_size_and_each_of_it_meets_the_criterion(parroted, name, size):
    rows = scored(parroted)
    meets = (HELDOUT | SETS)[name](rows)
    heldout = set() if name in HELDOUT else heldout_members(parroted)

    kept = manifest(parroted, name)
    by_reason = kept.groupby(kept.reason.fillna("kept")).groups

    assert len(by_reason["kept"]) == size
    assert kept.kept.equals(kept.reason.isna())
    assert set(by_reason["kept"]) | set(by_reason["not drawn"]) == set(rows.index[meets]) - heldout
    assert set(by_reason.get("held out", ())) == heldout


def test_sets_take_the_first_of_one_order(parroted):
    """Of two samples that both of two sets could take, each set takes the same one first."""
    rows = scored(parroted)
    heldout = heldout_members(parroted)
    for one, other in itertools.combinations(SETS, 2):
        both = set(rows.index[SETS[one](rows) & SETS[other](rows)]) - heldout
        first, second = (members(parroted, name) & both for name in (one, other))

        assert first <= second or second <= first


def test_the_debiased_subset_has_no_text_and_nothing_twice(parroted):
    rows, kept = scored(parroted), manifest(parroted, "debiased")
    heldout = heldout_members(parroted)
    near = near_candidates(parroted)
    duplicates = set(kept.index[kept.reason == "duplicate"])

    stayed = members(parroted, "debiased")

    assert stayed | duplicates == set(rows.index[rows.spans == 0]) - heldout == set(near)
    assert all(not near[place] & stayed for place in stayed)
    assert all(near[place] for place in duplicates)
    assert duplicates


def test_a_set_that_is_too_large_is_one_clear_error(project):
    project.edit(SETTINGS, "sizes: [8, 10]", "sizes: [8, 10, 10000]")
    meets = set(scored(project).query("spans > 0").index)
    available = len(meets - heldout_members(project))

    target = "results_micro/curation_cuts/posters/with-text-10000.json"
    output = project.run(config=SETTINGS, target=target, ok=False)

    message = f"with-text-10000 (text): {available} eligible samples, and 10000 are asked for"
    assert f"clipaudit: cut_curation: curation {message}" in output
    assert "Traceback" not in output


# --- reruns ---------------------------------------------------------------------------------------


def test_a_picture_that_was_spotted_in_another_corpus_is_not_read_again(project):
    add_corpus(project, "again", "data/words/posters/00000.tar")

    project.run(config=SETTINGS, target="results_micro/spans/again/00000.json")

    again = read(project, "spans/again/*")
    posters = read(project, "spans/posters/*").query("shard == 0")
    assert again.to_json() == posters.to_json()
    log = (project.folder / "logs/spot/again/00000.log").read_text()
    assert f" of {len(again)} pictures show no text, {len(again)} were known" in log


def test_what_was_spotted_outlives_results_and_actions(project):
    before = project.digests()["spans/posters/00000.json"]
    shutil.rmtree(project.results)
    shutil.rmtree(project.store / "actions")

    project.run(config=SETTINGS, target="results_micro/spans/posters/00000.json")

    assert project.digests()["spans/posters/00000.json"] == before
    log = (project.folder / "logs/spot/posters/00000.log").read_text()
    assert " of 80 pictures show no text, 80 were known" in log


def test_a_changed_fuzzy_threshold_reads_and_trains_nothing(project):
    before, digests = project.computed(), project.digests()
    project.edit(SETTINGS, "  encoder: own\n", "  encoder: own\n  fuzzy_threshold: 0.2\n")

    model, table = "models/brief/cotr-0.2-8.json", "tables/parrot_table1.json"
    project.run(config=SETTINGS, target=f"results_micro/{model} results_micro/{table}")

    assert Counter(project.computed_steps(before)) == {
        "match": 3,
        "score_captions": 2,  # they read the matches, whatever changes in these
        "cut_curation": 3,  # with those of the held-out sets
        "curate": 2,
        "report_table": 1,
    }
    log = (project.folder / "logs/train/brief/cotr-0.2-8.log").read_text()
    assert "from the store" in log
    after = project.digests()
    assert after[table] != digests[table]
    assert after[model] == digests[model]


@pytest.mark.slow
def test_spans_that_samples_state_are_read_without_ocr(project):
    rng = np.random.default_rng(0)
    stated = b'{"spans": [{"text": "red cat", "bbox": [1, 2, 30, 8]}]}'
    texts = [{"json": stated, "txt": b"a cat"}, {"txt": b"a dog"}]
    write_shard(project.folder / "stated.tar", [{"png": picture(rng), **text} for text in texts])
    add_corpus(project, "stated", "stated.tar")
    project.edit(SETTINGS, "  encoder: own\n", "  encoder: own\n  spotting: {spotter: dataset}\n")

    before, parts = project.computed(), ("stated/00000", "posters/00000", "posters/00001")

    target = " ".join(f"results_micro/matches/{part}.json" for part in parts)
    project.run(config=SETTINGS, target=target)

    assert [list(words) for words in pictures(project, "stated").words_co] == [["cat"], []]
    assert not pictures(project, "posters").spans.any()  # their JSON states none
    assert "spot" not in project.computed_steps(before)


# --- tasks ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_task_of_the_suite_stands_beside_the_others(project):
    suite(project.folder / "suite")
    project.edit(SETTINGS, "  retrieval: [album]\n", "  suite: {folder: suite}\n")

    project.run(config=SETTINGS, target="results_micro/task_results/own.json")

    values = read(project, "task_results/own").set_index("task").value
    metrics = read(project, "suite/own/vtab-flowers").set_index("metric")
    assert list(values.index) == ["val", "vtab/flowers"]
    assert values["val"] == (read(project, "tasks/own/val").right_rank == 0).mean()
    assert values["vtab/flowers"] == metrics.value[metrics.main].item()


def test_a_suite_that_is_not_there_is_one_clear_error(project):
    project.edit(SETTINGS, "  examples: 2\n", "  examples: 2\n  suite: {folder: nowhere}\n")

    output = project.run("--dry-run", config=SETTINGS, target=MADE, ok=False)

    assert output.count("parrot.suite.folder: nowhere") == 1
    assert "Traceback" not in output


# --- all of it ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_every_table_and_figure_is_made(complete):
    run = parse_settings(read_settings(complete.folder / SETTINGS))
    tables = [*profile_tables(run), *curated_tables(run)]
    figures = [*inspected_figures(run), *probe_figures(run), *parrot_galleries(run)]

    assert {f"parrot_table{number}" for number in (1, 2, 3, 8, 9, 14)} < set(tables)
    for folder, names, kinds in (
        ("tables", tables, ("parquet", "csv", "md", "tex")),
        ("figures", figures, ("parquet", "csv", "md", "svg", "png")),
    ):
        for name, kind in itertools.product(names, kinds):
            assert (complete.results / folder / f"{name}.{kind}").stat().st_size > 0
    assert "Nothing to be done" in complete.run(config=SETTINGS)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_table_2_says_sizes_mean_scores_and_what_models_reach(complete):
    raw = read(complete, "caption_scores/own/posters/*").astype({"raw": float})
    raw = raw.set_index(ADDRESS).raw
    rows = read(complete, "tables/parrot_table2").query("in_grid").set_index("curated")

    assert set(rows.index) >= {"random-8", "without-text-8", "with-text-10"}
    for name, row in rows.iterrows():
        kept = members(complete, name)
        results = read(complete, f"task_results/{row.encoder}").set_index("task").value
        ranks = read(complete, f"pair_ranks/{row.encoder}/album")
        recalls = (ranks["rank"] == 0).groupby(ranks.direction).mean()

        assert row.samples == len(kept) == int(name.rpartition("-")[2])
        assert row.avg_score == pytest.approx(raw[list(kept)].mean(), abs=1e-12)
        assert row.imagenet == results["val"]
        assert row.retrieval == results["album"] == pytest.approx(recalls.mean(), abs=1e-15)
        assert row.average == pytest.approx(results.mean(), abs=1e-12)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_table_14_lists_the_parrot_captions_of_the_highest_scores(complete):
    found = []
    for corpus in ("posters", "notices"):
        scores = read(complete, f"caption_scores/own/{corpus}/*")
        rows = pictures(complete, corpus).merge(scores, on=ADDRESS).assign(corpus=corpus)
        found.append(rows[rows.words_co.str.len() > 0])
    best = pd.concat(found).sort_values("raw", ascending=False, kind="stable")

    table = read(complete, "tables/parrot_table14")

    assert len(table) > 5
    assert table.caption.tolist() == best.caption.head(len(table)).tolist()
    for words, listed in zip(best.words_co, table.co_words, strict=False):
        assert set(words) == set(listed.split())


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_other_parts_give_the_same_sets_and_tables(complete, tmp_path):
    project = copied(complete, tmp_path)
    folders = ("curation_cuts", "vocabularies", "tables")
    before = {path: it for path, it in project.digests().items() if path.startswith(folders)}
    matches = read(project, "matches/posters/*")
    project.edit(SETTINGS, "shards_per_part: 2", "shards_per_part: 1")

    project.run(config=SETTINGS, target="all_tables")

    after = project.digests()
    assert {path: after[path] for path in before} == before
    assert len(list(project.results.glob("matches/posters/*.parquet"))) == 3
    assert read(project, "matches/posters/*").to_json() == matches.to_json()
