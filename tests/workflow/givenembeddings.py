"""Embeddings of the micro world computed elsewhere: files in a project, and their settings."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def directions(n):
    """Draw n random vectors of the micro world's embedding dimension."""
    return np.random.default_rng(n).normal(size=(n, 16))


def give_embeddings(project, corpus, draw=directions):
    """Write vectors for the uids of a corpus in a different order than its samples; return them."""
    files = sorted((project.results / "samples" / corpus).glob("*.parquet"))
    uids = sorted({uid for file in files for uid in pq.read_table(file)["uid"].to_pylist()})
    rows = draw(len(uids))
    halves = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    np.save(project.folder / f"{corpus}.npy", halves)
    pq.write_table(pa.table({"uid": uids}), project.folder / f"{corpus}.parquet")
    return dict(zip(uids, halves, strict=True))


def block(corpus, encoder="own"):
    return {
        "corpus": corpus,
        "encoder": encoder,
        "arrays": f"{corpus}.npy",
        "metadata": f"{corpus}.parquet",
        "column": "uid",
        "join_on": "uid",
    }
