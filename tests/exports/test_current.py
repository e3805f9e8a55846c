import pyarrow.parquet as pq
import pytest
from exportedrun import picture, two_parts, uid

from clipaudit.errors import StoreError
from clipaudit.exports.formats import export
from clipaudit.similarity.nearest import SIMILARITIES

SIMILAR = {"testset": "val", "similarity": 0.5, "test_shard": 0, "test_row": 0}


def columns(run, asked="large/all"):
    """Export a manifest; return its columns, its notes."""
    output = run.folder / "out.parquet"
    tally = export(run.results, run.store, asked, "parquet", output, force=True)
    return pq.read_table(output).to_pydict(), tally.notes


def similar(run, part, shard, made_of):
    path = f"similarities/own/large/{part}.json"
    rows = [SIMILAR | {"shard": shard, "row": row} for row in range(2)]
    run.rows(path, rows, SIMILARITIES, made_of=[made_of], part=part)


@pytest.fixture
def run(tmp_path):
    """A run with the similarities of both parts, of which the first comes from embeddings."""
    run = two_parts(tmp_path)
    samples = "samples/large/{}.json"
    run.rows("embeddings/own/large/00000.json", [], SIMILARITIES, made_of=[samples.format("00000")])
    similar(run, "00000", 0, "embeddings/own/large/00000.json")
    similar(run, "00001", 2, samples.format("00001"))
    return run


def index_again(run, shade=100):
    """Index the first part anew: as many samples, with images of other shades."""
    rows = [(uid(9 - number), f"caption {number}", picture(shade + number)) for number in range(3)]
    run.index("large", "00000", [rows[:2], rows[2:]])


def test_scores_of_samples_that_were_replaced_are_left_out_with_a_note(run):
    before, nothing = columns(run)
    index_again(run)
    run.manifest("large", "all", "00000", [(0, 0, None), (0, 1, None), (1, 0, None)])

    after, notes = columns(run)

    assert before["similarity_own_val"] == [0.5, 0.5, None, 0.5, 0.5]
    assert after["similarity_own_val"] == [None, None, None, 0.5, 0.5]
    assert (nothing, [note.partition(":")[0] for note in notes]) == (
        [],
        ["values missing in similarity_own_val"],
    )


def test_scores_of_samples_that_were_only_indexed_again_stay(run):
    before, _ = columns(run)
    shades = [picture(number) for number in range(3)]
    rows = [(uid(9 - number), f"caption {number}", shades[number]) for number in range(3)]
    run.index("large", "00000", [rows[:2], [*rows[2:], (uid(77), "no picture", None)]])

    assert columns(run) == (before, [])


def test_a_manifest_of_samples_that_were_replaced_is_refused(run):
    index_again(run)

    with pytest.raises(StoreError, match=r"all/00000\.json: comes from samples that .* no longer"):
        columns(run)


def test_a_sealed_manifest_of_replaced_samples_is_not_exported(run):
    run.seal("both", "large/all/00000", "large/all/00001")
    index_again(run)

    with pytest.raises(StoreError, match=r"both\.json: comes from samples that"):
        columns(run, "both")
