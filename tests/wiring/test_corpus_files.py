import os
from types import SimpleNamespace

import pytest

from clipaudit.wiring.corpora import FEW_POINTERS

LARGE = [f"data/micro/large/0000{number}.tar" for number in range(4)]


def job(**wildcards):
    return SimpleNamespace(**wildcards)


def test_a_part_has_the_shards_of_its_numbers(corpora):
    files = corpora()

    second = job(corpus="large", part="00001")

    assert files.shard_numbers(second) == [2, 3]
    assert files.indexed_tars(second) == files.part_tars(second) == LARGE[2:]


@pytest.mark.parametrize(("cores", "even", "uneven"), [(1, 1, 1), (2, 1, 2), (8, 4, 8)])
def test_cores_are_divided_among_parts(corpora, cores, even, uneven):
    files = corpora()
    files.cores = cores

    assert files.processes(job(corpus="large")) == even  # of two parts
    assert files.uneven_processes(job(corpus="large")) == uneven


def test_every_corpus_is_of_exactly_one_kind(corpora):
    files = corpora()

    assert files.splits == ["framed", "unframed"]
    assert sorted(files.indexed + files.splits + files.drawn + files.listed) == sorted(
        files.run.corpora
    )


def test_only_the_index_of_a_remote_corpus_reads_its_urls(corpora):
    urls = "s3://bucket/{00000..00003}.tar"
    files = corpora(large={"shards": urls, "world": None})
    first = job(corpus="large", part="00000")

    assert files.indexed_tars(first) == []
    assert files.indexed_urls(first) == ["s3://bucket/00000.tar", "s3://bucket/00001.tar"]
    assert files.part_tars(first) == ["results_micro/shards/large/00000.json"]


def test_the_states_of_a_job_are_those_of_the_users_files(corpora, tmp_path):
    mine = tmp_path / "mine.tar"
    mine.write_bytes(b"12")
    os.utime(mine, ns=(7, 7))
    some = [str(mine), *LARGE, "results_micro/a.json"]

    states = corpora().states(some, {"a": some, "b": LARGE}, lambda _: some)

    assert states(job()) == [[2, 7]] * 3


def test_only_data_made_here_are_inputs_of_a_run_without_data(corpora):
    files = corpora(without_data=True)

    assert files.brought("data/micro/a.tar", None, "mine/b.tar") == ["data/micro/a.tar"]


def test_a_split_reads_its_corpus(corpora):
    split = job(encoder="own", corpus="framed", part="00000")

    found = corpora().of_source("embeddings/{encoder}")(split)

    assert found == ["results_micro/embeddings/own/val/00000.json"]


@pytest.mark.parametrize("parts", [FEW_POINTERS, FEW_POINTERS + 1])
def test_a_list_replaces_more_than_a_few_pointers(corpora, parts):
    shards = f"data/micro/large/{{00000..{parts - 1:05}}}.tar"
    files = corpora(large={"shards": shards, "shards_per_part": 1})

    found = files.gathered("objects/large")

    if parts == FEW_POINTERS:
        assert found == files.all_parts("objects/{corpus}")(job(corpus="large"))
    else:
        assert found == ["results_micro/gathered/objects/large.list"]


def test_a_manifest_has_the_parts_of_its_corpora_in_order(corpora):
    files = corpora()
    both = job(manifest="large-deduplicated-and-small")

    assert files.manifest_parts(both) == [
        "results_micro/manifests/large/deduplicated/00000.json",
        "results_micro/manifests/large/deduplicated/00001.json",
        "results_micro/manifests/small/all/00000.json",
    ]
    assert files.manifest_classes(both) == ["data/micro/classes.txt"]


def test_a_corpus_without_images_stops_a_run_that_needs_them(corpora, capsys):
    rows = {"metadata": {"files": "a.parquet", "uid": "u"}, "captions": "none"}
    files = corpora(rows=rows)

    with pytest.raises(SystemExit):
        files.part_tars(job(corpus="rows", part="00000"))

    assert "clipaudit: settings: rows" in capsys.readouterr().err


def test_the_index_of_a_mapped_test_set_reads_its_map(corpora):
    to = {"to": "symbols", "classes": "mine/map.txt"}
    own = {"classes": "mine/names.txt"}
    files = corpora(label_sets={"own": own}, sketch={"labels": "own", "label_map": to})
    sketch = job(corpus="sketch", part="00000")

    assert files.classes(sketch) == ["mine/names.txt"]
    assert files.mapped_classes(sketch) == ["data/micro/classes.txt", "mine/map.txt"]
    stated = {"corpus": "sketch", "used": None, "label_map": True, "whole": True}
    assert files.labels(sketch) == stated
    assert files.labels(job(corpus="large", part="00000")) is None


def test_blurred_shards_are_made_in_tens_and_the_rest_one_by_one(corpora):
    faces = {"shards": "faces/{0..21}.tar"}
    veiled = {"shards": "data/blurred/veiled/{00000..00021}.tar", "blurred": {"of": "faces"}}
    files = corpora(faces=faces, veiled=veiled)

    assert files.last_blurred == ["veiled/00020", "veiled/00021"]
    tens = files.unblurred_tars(job(shards="veiled/0001"))
    assert tens == [f"faces/{number}.tar" for number in range(10, 20)]
    assert files.unblurred_tars(job(shards="veiled/00021")) == ["faces/21.tar"]
    assert files.blurred_settings(job(shards="veiled/0001"))["of"] == "faces"


def test_only_captions_made_of_classes_depend_on_their_template(corpora):
    classes = {"classes": "data/micro/classes.txt", "caption_template": "an icon of a {}"}
    files = corpora(label_sets={"symbols": classes})

    assert files.captioning(job(corpus="small"))["template"] == "an icon of a {}"
    assert files.captioning(job(corpus="val"))["template"] is None  # `captions: none`
