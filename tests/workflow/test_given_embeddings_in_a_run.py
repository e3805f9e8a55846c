"""Embeddings computed elsewhere, in runs of the micro world."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from givenembeddings import block, give_embeddings

from clipaudit.config.training import Architecture
from clipaudit.models.clip import build, weights_bytes

CORPORA = {"large": 2, "small": 1, "val": 1, "sketch": 1}  # parts of each
NEIGHBORS = "results_micro/neighbors/own/large.json"
SMALL = "results_micro/embeddings/own/small/00000.json"

pytestmark = pytest.mark.slow


def pointers(stage):
    return [
        f"results_micro/{stage}/{corpus}/{part:05d}.json"
        for corpus, count in CORPORA.items()
        for part in range(count)
    ]


@pytest.fixture
def indexed(fresh):
    """Return a project with indexed samples, whose encoder is a missing file."""
    fresh.run(target=" ".join(pointers("samples")))
    given = {corpus: block(corpus) for corpus in CORPORA}
    fresh.edit(
        "config/micro.yaml",
        "  own: {model: brief/small}\n",
        "  own: {architecture: atom, pretrained: gone.pt}\n\n" + yaml.dump({"embeddings": given}),
    )
    return fresh


def test_neighbours_are_found_among_embeddings_computed_elsewhere(indexed):
    given = {corpus: give_embeddings(indexed, corpus) for corpus in CORPORA}
    before = indexed.computed()

    said = indexed.run(target=NEIGHBORS)

    assert "embeddings of large by own: not checked, since own cannot be loaded here" in said
    steps = indexed.computed_steps(before)
    assert steps == ["merge_neighbors"] * 2 + ["nearest"] * 3 + ["take_embeddings"] * 5
    samples = pq.read_table(indexed.results / "samples/large/00001.parquet")
    taken = pq.read_table(indexed.results / "embeddings/own/large/00001.parquet")
    assert taken.select(["shard", "row"]).equals(samples.select(["shard", "row"]))
    rows = np.array([np.frombuffer(row, np.float16) for row in taken["embedding"].to_pylist()])
    wanted = np.array([given["large"][uid] for uid in samples["uid"].to_pylist()])
    np.testing.assert_allclose(rows, wanted, atol=0.001)


@pytest.fixture
def embedded(fresh):
    """Return a project whose small set a random encoder has embedded, with its uids and rows."""
    fresh.run(target="results_micro/samples/small/00000.json")
    fresh.edit(
        "config/micro.yaml",
        "  own: {model: brief/small}\n",
        "  own: {architecture: atom, pretrained: own.safetensors}\n",
    )
    fresh.edit("config/micro.yaml", "width: 4, head_width: 16", "width: 16, head_width: 64")
    settings = yaml.safe_load((fresh.folder / "config/micro.yaml").read_text())
    atom = dict(settings["architectures"]["atom"])
    atom["vocabulary"] = str(fresh.folder / atom["vocabulary"])
    weights = weights_bytes(build(Architecture(**atom), seed=0).model)
    (fresh.folder / "own.safetensors").write_bytes(weights)
    fresh.run(target=SMALL)
    uids = pq.read_table(fresh.results / "samples/small/00000.parquet")["uid"]
    rows = pq.read_table(fresh.results / "embeddings/own/small/00000.parquet")["embedding"]
    return fresh, uids, np.array([np.frombuffer(row, np.float16) for row in rows.to_pylist()])


def test_given_rows_of_the_encoder_pass_and_shifted_rows_are_refused(embedded):
    project, uids, rows = embedded
    whole = pq.read_table(project.results / "embeddings/own/small/00000.parquet")
    pq.write_table(pa.table({"uid": uids}), project.folder / "small.parquet")
    given = yaml.dump({"embeddings": {"small": block("small")}})
    project.edit("config/micro.yaml", "encoders:\n", f"{given}\nencoders:\n")

    np.save(project.folder / "small.npy", rows)
    project.run(target=SMALL)

    log = project.folder / "logs/take_embeddings/own/small/00000.log"
    assert "images embedded here have a median cosine of 1.0000" in log.read_text()
    taken = pq.read_table(project.results / "embeddings/own/small/00000.parquet")
    assert taken.select(["shard", "row"]).equals(whole.select(["shard", "row"]))

    np.save(project.folder / "small.npy", np.roll(rows, 1, axis=0))
    said = project.run(target=SMALL, ok=False)

    assert "embeddings of small by own: 32 images" in said
    assert "Rows are shifted or in another order" in said
    assert "Traceback" not in said
