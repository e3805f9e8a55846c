import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from exportedrun import ExportedRun, picture, two_parts, uid
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.corpora.urls import stated_urls
from clipaudit.errors import InputError, StoreError
from clipaudit.exports import formats as exports
from clipaudit.exports import rows
from clipaudit.exports.formats import _halves, _sorted_set, export
from clipaudit.memorization.recall import RECALLS
from clipaudit.parrot.caption_scores import SCORES
from clipaudit.parrot.matching import MATCHES
from clipaudit.similarity.nearest import SIMILARITIES

HOSTILE = "=1+1\x1b[31m\n\u202e<script>"


@pytest.fixture
def run(tmp_path):
    return two_parts(tmp_path)


def write(run, asked, form, **options):
    output = run.folder / f"out.{form}"
    return export(run.results, run.store, asked, form, output, **options), output


def documents(folder):
    return json.loads((folder / "samples.json").read_text())["samples"]


# --- choice of the manifest ----------------------------------------------------------------------


def test_uids_of_kept_samples_are_in_corpus_order(run):
    tally, output = write(run, "large/pruned", "uids")

    assert output.read_text().split() == [uid(9), uid(7), uid(4)]
    assert tally.rows == 3


def test_a_sealed_manifest_exports_its_parts_in_order(run):
    run.seal("both", "large/all/00001", "large/pruned/00000")

    _, output = write(run, "both", "uids")

    assert output.read_text().split() == [uid(5), uid(4), uid(9), uid(7)]


def test_results_without_manifests_say_that_a_search_of_a_sample_makes_none(tmp_path):
    run = ExportedRun(tmp_path)

    with pytest.raises(InputError, match=r"no manifests yet\. .* audit --sample\): search all\.$"):
        write(run, "train/without-copies", "uids")


@pytest.mark.parametrize("digits", [12, 64])
def test_the_digest_of_a_sealed_manifest_names_it(run, digits):
    digest = run.seal("one", "large/pruned/00001")

    _, output = write(run, digest[:digits], "uids")

    assert output.read_text().split() == [uid(4)]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("large/prunde", "no manifest 'large/prunde'. Did you mean large/pruned"),
        ("xyz", "no manifest 'xyz'. Known names: large/all, large/pruned, one."),
        ("../manifests/large/all", "no manifest '../manifests/large/all'. Known names: large/all"),
    ],
)
def test_an_unknown_manifest_is_answered_with_the_existing_ones(run, asked, message):
    run.seal("one", "large/pruned/00001")

    with pytest.raises(InputError) as refusal:
        write(run, asked, "uids")

    assert message in str(refusal.value)


def test_a_manifest_of_another_index_is_refused(run):
    run.manifest("large", "stray", "00000", [(0, 7, None)])

    told = r"manifests/large/stray/00000\.json: 4 rows, but .*samples/large has 3 rows"
    with pytest.raises(StoreError, match=told):
        write(run, "large/stray", "uids")


def test_a_lost_object_is_named(run):
    path = run.store.path(
        json.loads((run.results / "samples/large/00001.json").read_text())["digest"]
    )
    path.unlink()

    with pytest.raises(StoreError, match=f"{path}: the object is missing"):
        write(run, "large/all", "uids")


# --- DataComp ------------------------------------------------------------------------------------


def test_datacomp_reads_sorted_pairs_of_halves(run):
    tally, output = write(run, "large/pruned", "datacomp")

    read = np.load(output)
    assert read.dtype == np.dtype("u8,u8")
    assert read.tolist() == [(4, 0xABC), (7, 0xABC), (9, 0xABC)]
    assert (tally.rows, tally.notes) == (3, [])


def test_datacomp_has_a_repeated_uid_once_and_reports_it(tmp_path):
    run = ExportedRun(tmp_path)
    run.index("small", "00000", [[(uid(3), "a", picture(1)), (uid(3), "b", picture(2))]])
    run.manifest("small", "all", "00000", [(0, 0, None), (0, 1, None)])

    tally, output = write(run, "small/all", "datacomp")

    assert np.load(output).tolist() == [(3, 0xABC)]
    assert tally.notes == ["1 of 2 kept samples repeat a uid, left out"]


def test_datacomp_reports_removed_samples_that_the_resharder_would_keep(tmp_path):
    run = ExportedRun(tmp_path)
    run.index("small", "00000", [[(uid(n), str(n), picture(n)) for n in (3, 3, 4, 4, 5)]])
    run.manifest("small", "some", "00000", [(0, 0, None), (0, 2, None), (0, 3, None)])

    tally, output = write(run, "small/some", "datacomp")

    # as the resharder does: it looks up the uid of each sample of the shards
    shards = np.array([(n, 0xABC) for n in (3, 3, 4, 4, 5)], dtype="u8,u8")
    assert np.isin(shards, np.load(output)).tolist() == [True, True, True, True, False]
    assert "removed samples have 1 uid of kept ones" in tally.notes[-1]


def test_datacomp_sorts_the_same_over_many_files_of_uids(run, monkeypatch):
    _, whole = write(run, "large/all", "datacomp")
    content = whole.read_bytes()
    monkeypatch.setattr(exports, "BUCKET_ROWS", 1)

    _, spread = write(run, "large/all", "datacomp", force=True)

    assert spread.read_bytes() == content


@given(st.lists(st.integers(0, 2**128 - 1)))
def test_uids_sort_as_numbers_of_128_bits(numbers):
    pairs = _sorted_set(_halves([f"{number:032x}" for number in numbers]))

    assert [(high << 64) + low for high, low in pairs.tolist()] == sorted(set(numbers))


# --- Parquet -------------------------------------------------------------------------------------


def test_parquet_gives_the_place_of_each_kept_sample(run):
    _, output = write(run, "large/pruned", "parquet")

    rows = pq.read_table(output).to_pylist()
    assert [(row["shard"], row["row"], row["shard_file"]) for row in rows] == [
        (0, 0, "tars/large/0.tar"),
        (1, 0, "tars/large/1.tar"),
        (2, 1, "tars/large/2.tar"),
    ]
    assert rows[0]["caption"] == "caption 0"


def test_all_rows_include_the_reasons_of_removed_samples(run):
    _, output = write(run, "large/pruned", "parquet", all_rows=True)

    table = pq.read_table(output)
    assert table["kept"].to_pylist() == [True, False, True, False, False, True]
    reasons = table["reason"].to_pylist()
    assert reasons[:3] == [None, "too near", None]
    assert reasons[3].startswith("index: no image: expected one of jpg")
    assert table["uid"].to_pylist()[3] is None
    assert table["key"].to_pylist()[3] == "0001"


def test_scores_of_every_stage_are_columns(run):
    rows = [(0, 0, "val", 0.5), (0, 0, "sketch", 0.25), (1, 0, "val", 0.75)]
    run.rows(
        "similarities/ViT-B.32/large/00000.json",
        [
            {"shard": s, "row": r, "testset": t, "similarity": x, "test_shard": 0, "test_row": 0}
            for s, r, t, x in rows
        ],
        SIMILARITIES,
    )

    _, output = write(run, "large/pruned", "parquet")

    table = pq.read_table(output)
    assert table["similarity_ViT_B_32_val"].to_pylist() == [0.5, 0.75, None]
    assert table["similarity_ViT_B_32_sketch"].to_pylist() == [0.25, None, None]
    meaning = table.schema.field("similarity_ViT_B_32_val").metadata[b"meaning"].decode()
    assert meaning == "highest similarity to a sample of test set val, by encoder ViT-B.32"


def test_scores_of_a_drawn_corpus_belong_to_its_source(run):
    row = {"shard": 2, "row": 1, "spans": 3, "words_rate": 0.5, "plain_rate": 0.0}
    row |= {"words_caption": 2, "plain_caption": 2, "words_fuzzy": 1, "plain_fuzzy": 0}
    row |= {"words_co": ["a"], "plain_co": [], "words_fuzzy_rate": 0.5}
    run.rows("matches/large.drawn/00000.json", [row], MATCHES)

    _, output = write(run, "large/pruned", "parquet")

    assert pq.read_table(output)["cotr"].to_pylist() == [None, None, 0.5]


def test_captions_have_the_scores_of_each_encoder_including_held_out_ones(run):
    row = {"shard": 0, "row": 0, "raw": 0.75, "all": 0.25, "co": None}
    run.rows("caption_scores/own/large/00000.json", [row], SCORES, encoder="own")
    run.rows("heldout_scores/own/large/00000.json", [row | {"raw": 0.5}], SCORES, encoder="own")
    run.rows("heldout_scores/words/large/00000.json", [row | {"raw": 1.0}], SCORES, encoder="words")

    _, output = write(run, "large/pruned", "parquet")

    first = pq.read_table(output).to_pylist()[0]
    assert (first["score_own"], first["rsa_own"], first["rsc_own"]) == (0.75, 0.5, None)
    assert first["score_words"] == 1.0


def test_recall_is_the_share_of_objects_found_with_each_k(run):
    row = {"shard": 0, "row": 0, "truths": 4, "predicted": 9, "top_predicted": 0, "top_correct": 0}
    found = [row | {"k": 10, "correct": 1}, row | {"k": 20, "correct": 3}]
    nothing = row | {"row": 1, "k": 10, "truths": 0, "correct": 0}
    run.rows("recalls/clip.set-a/public/large/00000.json", [*found, nothing], RECALLS)

    _, output = write(run, "large/all", "parquet")

    table = pq.read_table(output)
    assert table["recall_clip_set_a_public_10"].to_pylist()[:2] == [0.25, None]
    assert table["recall_clip_set_a_public_20"].to_pylist()[:2] == [0.75, None]


def test_two_encoders_with_similar_names_have_separate_columns(run):
    row = {"shard": 0, "row": 0, "testset": "val", "test_shard": 0, "test_row": 0}
    for encoder, similarity in (("a-b", 0.25), ("a.b", 0.5)):
        path = f"similarities/{encoder}/large/00000.json"
        run.rows(path, [row | {"similarity": similarity}], SIMILARITIES, encoder=encoder)

    _, output = write(run, "large/pruned", "parquet")

    table = pq.read_table(output)
    assert table["similarity_a_b_val"][0].as_py() == 0.25
    assert table["similarity_a_b_val_2"][0].as_py() == 0.5


def test_test_sets_that_share_a_name_but_for_case_have_separate_columns(run):
    row = {"shard": 0, "row": 0, "test_shard": 0, "test_row": 0}
    found = [
        row | {"testset": "v-A", "similarity": 0.25},
        row | {"testset": "v_a", "similarity": 0.5},
    ]
    run.rows("similarities/own/large/00000.json", found, SIMILARITIES, encoder="own")

    _, output = write(run, "large/pruned", "parquet")

    table = pq.read_table(output)
    assert table["similarity_own_v_A"][0].as_py() == 0.25
    assert table["similarity_own_v_a_2"][0].as_py() == 0.5


def test_a_url_comes_from_the_json(run):
    _, output = write(run, "large/pruned", "parquet", all_rows=True)

    urls = pq.read_table(output)["url"].to_pylist()
    assert urls[:2] == [f"https://pictures.test/{uid(9)}", f"https://pictures.test/{uid(8)}"]
    assert urls[3] is None  # the row that is not a sample


@pytest.mark.parametrize("text", ['{"url": "\\ud800"}', '{"url": ["a"]}', "{}", None])
def test_an_invalid_url_is_null(text):
    assert stated_urls(pa.chunked_array([[text]], pa.string())).to_pylist() == [None]


def test_each_encoder_has_a_column_of_vectors_with_null_where_there_is_none(run):
    run.embeddings("ViT-B.32", "large", "00000", {(0, 0): (1, 0, 0), (0, 1): (0, 1, 0)})
    run.embeddings("ViT-B.32", "large", "00001", {(2, 1): (0, 0, 1)})
    run.embeddings("own", "large", "00000", {(1, 0): (0.5, -0.5)})

    _, output = write(run, "large/pruned", "parquet", vectors=True)

    table = pq.read_table(output)
    assert table.schema.field("vector_ViT_B_32").type == pa.list_(pa.float32(), 3)
    assert table["vector_ViT_B_32"].to_pylist() == [[1, 0, 0], None, [0, 0, 1]]
    assert table["vector_own"].to_pylist() == [None, [0.5, -0.5], None]
    meaning = table.schema.field("vector_own").metadata[b"meaning"].decode()
    assert meaning == "embedding of the image by encoder own, of unit length"


def test_vectors_are_the_same_however_few_are_held_in_memory(run, monkeypatch):
    drawn = {(0, 0): (1, 0), (0, 1): (0, 1), (1, 0): (1, 1)}
    run.embeddings("own", "large.drawn", "00000", drawn)
    run.embeddings("own", "large", "00001", {(2, 0): (2, 0)})
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", 1)

    _, output = write(run, "large/all", "parquet", vectors=True, all_rows=True)

    column = pq.read_table(output)["vector_own"].to_pylist()
    assert column == [[1, 0], [0, 1], [1, 1], None, [2, 0], None]


def test_an_export_without_embeddings_has_no_vectors_and_says_so(run):
    tally, output = write(run, "large/all", "parquet", vectors=True)

    assert tally.notes == ["no vectors: no encoder embedded large"]
    assert pq.read_schema(output).names[-1] == "url"


# --- complete or not at all ----------------------------------------------------------------------


def test_a_failed_export_leaves_nothing(run):
    run.manifest("large", "stray", "00001", [(2, 9, None)])
    run.manifest("large", "stray", "00000", [(0, 0, None)])
    before = sorted(os.listdir(run.folder))

    with pytest.raises(StoreError):
        write(run, "large/stray", "fiftyone")

    assert sorted(os.listdir(run.folder)) == before


def test_an_export_replaces_an_existing_one_only_by_force(run):
    _, output = write(run, "large/pruned", "uids")

    with pytest.raises(InputError, match=r"out.uids: exists. Name another output, or .* --force"):
        write(run, "large/all", "uids")
    write(run, "large/all", "uids", force=True)

    assert len(output.read_text().split()) == 5


def test_force_replaces_no_folder_of_another_kind(run):
    output = run.folder / "out.fiftyone"
    output.mkdir()
    (output / "thesis.tex").write_text("years of work")

    with pytest.raises(InputError, match=r"a folder that has no metadata\.json"):
        write(run, "large/all", "fiftyone", force=True)

    assert (output / "thesis.tex").read_text() == "years of work"


def test_a_shard_that_changed_since_its_index_is_named(run):
    tar = run.folder / "tars/large/0.tar"
    tar.write_bytes(tar.read_bytes() + bytes(512))

    with pytest.raises(InputError, match=r"0\.tar: its SHA-256 is now"):
        write(run, "large/all", "fiftyone")


def test_an_empty_manifest_is_an_empty_export(run):
    run.manifest("large", "none", "00000", [(0, 0, "gone")])
    run.manifest("large", "none", "00001", [(2, 0, "gone")])

    assert pq.read_table(write(run, "large/none", "parquet")[1]).num_rows == 0
    assert np.load(write(run, "large/none", "datacomp")[1]).shape == (0,)
    assert write(run, "large/none", "uids")[1].read_text() == ""
    assert documents(write(run, "large/none", "fiftyone")[1]) == []


def test_parquet_keeps_its_columns_if_an_audit_did_not_run(run):
    _, output = write(run, "large/all", "parquet", all_rows=True)

    assert pq.read_schema(output).names[:9] == [
        "corpus", "shard", "row", "shard_file", "uid", "key", "caption", "url", "kept",
    ]  # fmt: skip
    assert isinstance(pq.read_table(output), pa.Table)


def test_a_control_is_not_exported_as_samples_of_the_corpus(run, tmp_path):
    action = run.act(
        "repack",
        {"sealed": ("sealed/one.erased.json", run.store.put_bytes(b"s", schema="sealed"))},
        settings={"control": "erased"},
        extensions={"sealed": ".sealed"},
    )

    assert action
    with pytest.raises(InputError, match=r"one\.erased: a control.*\(erased\).*clipaudit stream"):
        export(run.results, run.store, "one.erased", "uids", tmp_path / "out.txt")
