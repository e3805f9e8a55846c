from pathlib import Path

import pytest

from clipaudit.errors import InputError
from clipaudit.lineage.planning.shardsizes import ShardSizes
from clipaudit.steps.jobs import Job
from clipaudit.store.store import Pointer, replace_text


def job(script, folder, corpus, **params):
    outputs = {name: [str(folder / corpus / f"{name}.json")] for name in ("samples", "drops")}
    wildcards = {"corpus": corpus, "world": "glyph"}
    return Job(script, script, wildcards, params, {}, outputs, 1, {}, "its output is missing")


@pytest.fixture
def index(tmp_path):
    return job("index", tmp_path, "large", shards=[0, 1])


def learned(sizes, *jobs):
    sizes.learn(jobs)
    return sizes


def test_shards_of_a_generated_world_have_a_known_size(index, tmp_path):
    world = {"corpora": {"large": {"samples_per_shard": 12}}}
    made = job("generate_shard", tmp_path, "large", world=world)

    sizes = learned(ShardSizes({}), made, index)

    assert sizes.said() == {"large": "12 per shard (world glyph)"}


def test_an_indexed_corpus_has_a_known_size_that_includes_drops(index):
    for (path,), rows in zip(index.outputs.values(), (19, 1), strict=True):
        Path(path).parent.mkdir(exist_ok=True)
        replace_text(Path(path), Pointer("a" * 64, rows, 5, "x").to_json())

    assert learned(ShardSizes({}, 99), index).samples("large") == 10


def test_a_size_stated_for_a_corpus_overrides_one_stated_for_all(index):
    assert learned(ShardSizes({"large": 3}, 99), index).samples("large") == 3
    assert learned(ShardSizes({}, 99), index).samples("large") == 99


def test_all_corpora_of_unknown_size_are_named(index, tmp_path):
    other = job("index", tmp_path, "small", shards=[0])

    with pytest.raises(InputError, match=r"unknown for large, small\. Give --samples-per-shard "):
        ShardSizes({}).learn([index, other])


def test_a_corpus_that_no_job_indexes_is_refused(index):
    with pytest.raises(InputError, match=r"of this name\. Known corpora: large"):
        ShardSizes({"larg": 3}).learn([index])
