"""Settings that request more samples than their corpora can have."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from handmaderun import HandmadeRun

from clipaudit.config.loading import parse_settings
from clipaudit.errors import ConfigError
from clipaudit.lineage.planning.shortages import most_samples, refuse_shortages
from clipaudit.steps.filedigests import FileDigests


def settings(shards, sizes=(8,), **others):
    return parse_settings(
        {
            "corpora": {"web": {"shards": shards}, "half": {"of": "web", "where": "row < 5"}},
            "architectures": {"atom": {"open_clip": "RN50"}},
            "recipes": {"brief": {"architecture": "atom", "batch_size": 4}},
            "encoders": {"own": {"model": "brief/web"}},
            "parrot": {
                "corpora": ["web"],
                "encoder": "own",
                "curations": {
                    "corpus": "web",
                    "sizes": list(sizes),
                    "heldout": 2,
                    "recipes": ["brief"],
                },
            },
            **others,
        }
    )


@pytest.fixture
def tables(tmp_path):
    """Return two Parquet files of 10 rows each."""
    files = [str(tmp_path / f"{number}.parquet") for number in range(2)]
    for file in files:
        pq.write_table(pa.table({"n": list(range(10))}), file)
    return files


def test_a_set_larger_than_its_corpus_is_refused_with_both_numbers(tables):
    message = (
        r"parrot.curations.sizes: sets of 21 samples, but corpora.web has at most 20 samples. "
        r"Request fewer, or add shards until there are 21.$"
    )

    with pytest.raises(ConfigError, match=message):
        refuse_shortages(settings(tables, sizes=[20, 21]))


def by_default(tables, **curations):
    """Return settings that name no number of samples except those of `curations`."""
    return settings(
        tables,
        corpora={"web": {"shards": tables}, "test": {"shards": tables}},
        recipes={"brief": {"architecture": "atom"}},
        parrot={
            "corpora": ["web"],
            "encoder": "own",
            "curations": {"corpus": "web", "recipes": ["brief"], **curations},
        },
        similarity={
            "encoder": "own",
            "large": "web",
            "test_sets": ["test"],
            "near_far": {"queries": ["test"]},
            "core_set": {"semdedup": False},
        },
    )


def refusals(run):
    """Return the lines of the refusal, or none."""
    try:
        refuse_shortages(run)
    except ConfigError as error:
        return str(error).splitlines()
    return []


def test_paper_defaults_refuse_no_small_corpus_but_the_same_explicit_numbers_do(tables):
    run = by_default(tables)
    sizes = run.parrot.curations.sizes

    assert refusals(run) == []
    assert len(refusals(by_default(tables, sizes=sizes))) == len(sizes)


def test_a_set_as_large_as_its_corpus_passes_but_one_more_sample_is_refused(tables):
    assert refusals(settings(tables, sizes=[20])) == []
    assert len(refusals(settings(tables, sizes=[21]))) == 1


def test_a_pruning_that_keeps_more_samples_than_exist_is_refused(tables):
    similarity = {
        "encoder": "own",
        "large": "web",
        "test_sets": ["half"],
        "near_far": {"queries": ["half"], "kept": [20, 21]},
    }

    with pytest.raises(ConfigError, match=r"near_far\.kept: 21 samples are kept, but corpora\.web"):
        refuse_shortages(settings(tables, similarity=similarity))


def test_all_shortages_are_reported_together(tables):
    recipe = {"architecture": "atom", "batch_size": 64}

    with pytest.raises(ConfigError) as told:
        refuse_shortages(settings(tables, sizes=[21, 22], recipes={"brief": recipe}))

    assert [line.split(":")[0] for line in str(told.value).splitlines()] == [
        "parrot.curations.sizes",
        "parrot.curations.sizes",
        "encoders.own.model",
    ]


def test_the_size_of_tars_is_known_only_from_their_statistics(tmp_path):
    tars = [str(tmp_path / f"{number:05}.tar") for number in range(2)]
    run = settings(tars, sizes=[1000])
    refuse_shortages(run)

    for number in range(2):
        stated = {"count": 9, "successes": 7}
        (tmp_path / f"{number:05}_stats.json").write_text(json.dumps(stated))

    assert most_samples(run, "web", enough=15) == 14
    assert most_samples(run, "half", enough=15) == 14
    assert most_samples(run, "web", enough=14) is None


def test_missing_or_damaged_files_are_not_counted(tmp_path):
    (tmp_path / "0.parquet").write_text("no table")

    assert most_samples(settings([str(tmp_path / "0.parquet")]), "web", enough=9) is None
    assert most_samples(settings([str(tmp_path / "1.parquet")]), "web", enough=9) is None


def test_indexed_samples_count_while_the_files_are_unchanged(tmp_path, monkeypatch):
    made, tar = HandmadeRun(tmp_path, monkeypatch), tmp_path / "0.tar"
    tar.write_text("a tar")
    os.utime(tar, (1, 1))  # written long ago, so that its digest is trusted
    file = made.shard(str(tar))
    digest = FileDigests(made.store.root / "files").digest(tar)
    outputs = {
        "samples/web/00000.json": ({}, [{"row": row} for row in range(5)]),
        "drops/index/web/00000.json": ({}, [{"row": 5}]),
    }
    made.act("index", outputs, {"tars": [type(file)(digest, str(tar))]})
    folders = {"results": str(made.results), "store": str(made.store.root)}
    run = settings([str(tar)], **folders)

    assert most_samples(run, "web", enough=7) == 6

    tar.write_text("another tar")
    assert most_samples(run, "web", enough=7) is None


def test_looking_up_every_image_of_a_share_of_a_corpus_is_refused(tables):
    memorization = {
        "sources": {"web": {"train": 0.2, "public": 0.5}},
        "recipe": "brief",
        "neighbors": [2, 10],
    }
    message = r"memorization.neighbors: 10 images of a public set that is 0.5 of the corpus are "

    with pytest.raises(ConfigError, match=message):
        refuse_shortages(settings(tables, memorization=memorization))
    memorization["neighbors"] = [2, 9]
    refuse_shortages(settings(tables, memorization=memorization))
