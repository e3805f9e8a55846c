"""Embeddings that others computed, in a run of the micro world: no model is ever loaded."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

CORPORA = {"large": 2, "small": 1, "val": 1, "sketch": 1}  # parts of each
NEIGHBORS = "results_micro/neighbors/own/large.json"

pytestmark = pytest.mark.slow


def pointers(stage):
    return [
        f"results_micro/{stage}/{corpus}/{part:05d}.json"
        for corpus, count in CORPORA.items()
        for part in range(count)
    ]


def give_embeddings(project, corpus):
    """Write random directions for the uids of a corpus, in another order than its samples."""
    files = sorted((project.results / "samples" / corpus).glob("*.parquet"))
    uids = sorted({uid for file in files for uid in pq.read_table(file)["uid"].to_pylist()})
    rows = np.random.default_rng(len(uids)).normal(size=(len(uids), 16))
    halves = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    np.save(project.folder / f"{corpus}.npy", halves)
    pq.write_table(pa.table({"uid": uids}), project.folder / f"{corpus}.parquet")
    return dict(zip(uids, halves, strict=True))


@pytest.fixture
def indexed(fresh):
    """A project whose samples are known, and whose encoder is a file that is not there."""
    fresh.run(target=" ".join(pointers("samples")))
    given = {
        corpus: {
            "corpus": corpus,
            "encoder": "own",
            "arrays": f"{corpus}.npy",
            "metadata": f"{corpus}.parquet",
            "column": "uid",
            "join_on": "uid",
        }
        for corpus in CORPORA
    }
    fresh.edit(
        "config/micro.yaml",
        "  own: {model: brief/small}\n",
        "  own: {architecture: atom, pretrained: gone.pt}\n\n" + yaml.dump({"embeddings": given}),
    )
    return fresh


def test_neighbours_are_found_among_embeddings_that_others_computed(indexed):
    given = {corpus: give_embeddings(indexed, corpus) for corpus in CORPORA}
    before = indexed.computed()

    indexed.run(target=NEIGHBORS)

    steps = indexed.computed_steps(before)
    assert steps == ["merge_neighbors"] * 2 + ["nearest"] * 3 + ["take_embeddings"] * 5
    samples = pq.read_table(indexed.results / "samples/large/00001.parquet")
    taken = pq.read_table(indexed.results / "embeddings/own/large/00001.parquet")
    assert taken.select(["shard", "row"]).equals(samples.select(["shard", "row"]))
    rows = np.array([np.frombuffer(row, np.float16) for row in taken["embedding"].to_pylist()])
    wanted = np.array([given["large"][uid] for uid in samples["uid"].to_pylist()])
    np.testing.assert_allclose(rows, wanted, atol=0.001)
