"""`why`, `verify`, `sql` and the catalog over a finished run."""

import io
import shutil
import tarfile

import duckdb
import pyarrow.parquet as pq

FLAGS = ("--results", "results_micro", "--store", "store_micro")
TABLE = "results_micro/tables/similarity_table1.parquet"


def why(project, *arguments, **options):
    return project.clipaudit("why", *arguments, *FLAGS, **options)


def test_why_goes_from_a_row_to_shards_settings_and_code(finished):
    output = why(finished, TABLE, "--where", "dataset = 'sketch-pruned' and testset = 'val'")

    assert "dataset=sketch-pruned" in output.splitlines()[0]
    for step in ("report_table", "evaluate", "train", "seal", "gap", "nearest", "embed", "index"):
        assert f"| {step}  action " in output
    assert "data/micro/large/00003.tar" in output
    assert "recipe.learning_rate = 0.001" in output
    assert output.count("code ") > 8


def test_why_leaves_out_what_had_no_part_in_the_row(finished):
    output = why(finished, TABLE, "--where", "dataset = 'sketch-pruned' and testset = 'val'")

    predictions = "results_micro/predictions/brief/large-deduplicated-and-small"
    assert f"{predictions}.sketch-pruned/val.json" in output
    assert f"{predictions}.val-pruned/val.json" not in output
    assert f"{predictions}.sketch-pruned/sketch.json" not in output


def test_why_names_the_columns_when_no_row_is_meant(finished):
    output = why(finished, TABLE, "--where", "dataset = 'x'", ok=False)

    assert "no row satisfies \"dataset = 'x'\". Its columns: position, dataset" in output


def test_why_answers_a_wrong_condition_with_the_databases_words(finished):
    output = why(finished, TABLE, "--where", "datset = 'x'", ok=False)

    assert '"datset" not found' in output
    assert "Traceback" not in output


def test_verify_hashes_every_object(finished):
    output = finished.clipaudit("verify", *FLAGS)

    assert "all as they were written" in output


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
    assert "The catalog has: " in output
    assert ", curves," in output


def test_links_open_the_objects_by_name(finished):
    pattern = f"{finished.results}/samples/large/*.parquet"

    assert duckdb.sql(f"select count(*) from '{pattern}'").fetchall() == [(128,)]


def test_results_without_their_lineage_say_so(project):
    shutil.rmtree(project.store / "lineage")

    assert "no lineage record of action" in why(project, TABLE, ok=False)


def test_planted_near_duplicates_are_scored_against_the_truth(finished):
    """An untrained model calls everything near, so every plant must be found here."""
    done = finished.python("-m", "clipaudit.demo.scoring", "config/micro.yaml")

    (sketch,) = [line.split() for line in done.splitlines() if line.startswith("sketch")]
    assert int(sketch[1]) > 0
    assert sketch[1] == sketch[2]


def test_stream_gives_what_a_sealed_manifest_keeps(finished):
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
    """Unit vectors, but for the rounding to float16."""
    norm = "list_inner_product(embedding_array(embedding), embedding_array(embedding))"
    output = finished.clipaudit(
        "sql", "--results", "results_micro", "--format", "csv",
        f"select min({norm}) > 0.99 and max({norm}) < 1.01 as unit from embeddings",
    )  # fmt: skip

    assert output.splitlines() == ["unit", "True"]
