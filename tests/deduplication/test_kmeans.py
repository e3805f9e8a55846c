import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from plaincosines import plain_cosines

from clipaudit.deduplication import kmeans
from clipaudit.deduplication.kmeans import spherical_kmeans
from clipaudit.errors import StoreError

KILLED = """
import sys
from pathlib import Path
import numpy as np
from clipaudit.deduplication.kmeans import spherical_kmeans
spherical_kmeans(np.load(sys.argv[1]), 300, iterations=500, seed=3, scratch=Path(sys.argv[2]))
"""


def unit_vectors(n, d, spread, directions=12):
    rng = np.random.default_rng(0)
    means = rng.standard_normal((directions, d))
    vectors = means[rng.integers(0, directions, n)] + spread * rng.standard_normal((n, d))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


def plain(vectors, clusters, iterations, seed):
    """Lloyd's iterations in a few lines, for samples that leave no cluster empty."""
    wide = vectors.astype(np.float64)
    centroids = wide[kmeans._start(len(wide), clusters, seed)]
    for _ in range(iterations + 1):
        halves = (centroids / np.linalg.norm(centroids, axis=1, keepdims=True)).astype(np.float16)
        nearest = (wide @ halves.astype(np.float64).T).argmax(axis=1)
        centroids = np.stack([wide[nearest == number].sum(axis=0) for number in range(clusters)])
    return halves


def faiss_centroids(vectors, clusters, iterations, seed):
    faiss = pytest.importorskip("faiss")
    options = {"niter": iterations, "seed": seed, "spherical": True}
    limits = {"min_points_per_centroid": 1, "max_points_per_centroid": len(vectors)}
    trained = faiss.Kmeans(vectors.shape[1], clusters, **options, **limits)
    trained.train(vectors.astype(np.float32))
    return trained.centroids


@pytest.mark.parametrize(
    "resources",
    [
        {"backend": "numpy"},
        {"backend": "torch"},
        {"backend": "native", "threads": 2},
        {"block_rows": 37},
    ],
    ids=lambda resources: "-".join(map(str, resources.values())),
)
def test_backends_blocks_and_threads_change_no_byte(tmp_path, monkeypatch, resources):
    monkeypatch.setattr(kmeans, "STRIP_ROWS", 100)
    vectors = unit_vectors(900, 24, spread=0.5)

    found = spherical_kmeans(vectors, 20, iterations=6, seed=3, scratch=tmp_path, **resources)

    np.testing.assert_array_equal(found, plain(vectors, 20, 6, seed=3))


def test_k_means_starts_with_the_same_samples_as_faiss():
    faiss = pytest.importorskip("faiss")
    order = np.empty(1000, dtype=np.int32)
    faiss.rand_perm(faiss.swig_ptr(order), 1000, 1234 + 1)

    np.testing.assert_array_equal(kmeans._start(1000, 30, seed=1234), order[:30])


def test_k_means_finds_the_same_centroids_as_faiss(tmp_path):
    vectors = unit_vectors(2000, 24, spread=0.3)

    found = spherical_kmeans(vectors, 16, iterations=50, seed=3, scratch=tmp_path)

    similar = (found * faiss_centroids(vectors, 16, 50, seed=3)).sum(axis=1)
    assert similar.min() > 0.999  # float16 moves few samples; another optimum, a whole centroid


def test_an_empty_cluster_takes_half_of_a_large_one(tmp_path):
    copies = np.repeat(unit_vectors(2, 8, spread=0.2, directions=1), 270, axis=0)
    vectors = np.concatenate([copies, unit_vectors(60, 8, spread=0.5, directions=3)])
    assert len(np.unique(vectors[kmeans._start(600, 4, seed=3)], axis=0)) < 4

    found = spherical_kmeans(vectors, 4, iterations=20, seed=3, scratch=tmp_path)

    nearest = plain_cosines(vectors, found).argmax(axis=1)
    assert np.unique(nearest).tolist() == [0, 1, 2, 3]


def test_k_means_stops_when_no_centroid_moves(tmp_path, caplog):
    caplog.set_level("INFO")
    vectors = unit_vectors(500, 8, spread=0.1)

    few, many = (
        spherical_kmeans(vectors, 5, iterations=count, seed=3, scratch=tmp_path)
        for count in (50, 10**9)
    )

    np.testing.assert_array_equal(few, many)
    assert "no centroid moves after" in caplog.text


def test_a_killed_k_means_resumes_and_gives_the_same_bytes(tmp_path, caplog):
    caplog.set_level("INFO")
    vectors = unit_vectors(20_000, 64, spread=2)
    np.save(tmp_path / "vectors.npy", vectors)
    for name in ("killed", "whole"):
        (tmp_path / name).mkdir()
    command = [sys.executable, "-c", KILLED, tmp_path / "vectors.npy", tmp_path / "killed"]
    with subprocess.Popen(command) as process:
        while not (tmp_path / "killed" / kmeans.FILE_NAME).exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL

    killed, whole = (
        spherical_kmeans(vectors, 300, iterations=500, seed=3, scratch=tmp_path / name)
        for name in ("killed", "whole")
    )

    assert caplog.text.count("k-means: resumes after") == 1
    np.testing.assert_array_equal(killed, whole)


@pytest.mark.parametrize("change", [{"seed": 4}, {"iterations": 7}, {"clusters": 9}])
def test_the_state_of_another_k_means_is_not_resumed(tmp_path, caplog, change):
    caplog.set_level("INFO")
    vectors = unit_vectors(500, 8, spread=1)
    asked = {"clusters": 10, "iterations": 2, "seed": 3, "scratch": tmp_path}
    spherical_kmeans(vectors, **asked)

    spherical_kmeans(vectors, **{**asked, **change})

    assert "resumes after" not in caplog.text


def test_a_damaged_state_is_refused(tmp_path):
    (tmp_path / kmeans.FILE_NAME).write_bytes(b"PK")

    with pytest.raises(StoreError, match=r"kmeans\.npz: .* is damaged .*Delete it"):
        spherical_kmeans(unit_vectors(50, 8, 1), 5, iterations=2, seed=3, scratch=tmp_path)
