"""`verify`, `sql` and the catalog over a finished run."""

import io
import tarfile

import duckdb
import pyarrow.parquet as pq

FLAGS = ("--results", "results_micro", "--store", "store_micro")


def test_every_table_is_a_view_with_its_labels(finished):
    output = finished.clipaudit(
        "sql", "--results", "results_micro", "--format", "csv",
        "select distinct corpus from samples order by all",
    )  # fmt: skip

    assert output.splitlines() == ["corpus", "large", "sketch", "small", "val"]


def test_the_catalog_reaches_no_other_file(finished):
    output = finished.clipaudit(
        "sql",
        "--results",
        "results_micro",
        "select * from read_text('config/micro.yaml')",
        ok=False,
    )

    assert "disabled by configuration" in output
    assert "Only the tables of the run can be read here" in output


def test_links_open_the_objects_by_name(finished):
    pattern = f"{finished.results}/samples/large/*.parquet"

    assert duckdb.sql(f"select count(*) from '{pattern}'").fetchall() == [(128,)]


def test_planted_near_duplicates_are_scored_against_the_truth(finished):
    """An untrained model finds everything near, so every plant must be found here."""
    done = finished.python("-m", "clipaudit.similarity.scoring", "config/micro.yaml")

    (sketch,) = [line.split() for line in done.splitlines() if line.startswith("sketch")]
    assert int(sketch[1]) > 0
    assert sketch[1] == sketch[2]


def test_stream_gives_the_kept_samples_of_a_sealed_manifest(finished):
    digest = finished.digests()["sealed/large-deduplicated-and-small.sketch-pruned.json"]
    kept = []
    for shard in range(5):  # four of the large set, one of the small
        tar = finished.stream(digest, shard)
        kept += [member.name for member in tarfile.open(fileobj=io.BytesIO(tar))]

    manifests = finished.results / "manifests"
    files = [
        *manifests.glob("large/deduplicated.sketch-pruned/*.parquet"),
        *manifests.glob("small/all/*.parquet"),
    ]
    expected = sum(pq.read_table(path)["kept"].to_numpy().sum() for path in files)
    assert sum(name.endswith(".png") for name in kept) == expected
    assert sum(name.endswith(".txt") for name in kept) == expected  # the small set's, from classes


def test_sql_reads_embeddings_as_numbers(finished):
    """Vectors have unit length, except for the rounding to float16."""
    norm = "list_inner_product(embedding_array(embedding), embedding_array(embedding))"
    output = finished.clipaudit(
        "sql", "--results", "results_micro", "--format", "csv",
        f"select min({norm}) > 0.99 and max({norm}) < 1.01 as unit from embeddings",
    )  # fmt: skip

    assert output.splitlines() == ["unit", "true"]
