from types import SimpleNamespace

import pytest
from exportedrun import ExportedRun, picture, uid

from clipaudit.corpora.drops import DROPS
from clipaudit.errors import StoreError
from clipaudit.exports.rows import find_manifest
from clipaudit.runs.start import remove_outdated_parts


@pytest.fixture
def run(tmp_path):
    """A run of the corpus `web` in three parts of one shard, with a manifest."""
    run = ExportedRun(tmp_path)
    for number in range(3):
        run.index("web", f"{number:05d}", [[(uid(number), "x", picture(number))]], first=number)
        run.manifest("web", "all", f"{number:05d}", [(number, 0, None)])
    return run


def settings(**parts):
    return SimpleNamespace(corpora=parts, parts=lambda name: range(parts[name]))


def test_parts_that_a_corpus_no_longer_has_are_removed(run):
    assert remove_outdated_parts(settings(web=2), run.results) == 4

    parts = [part.part for part in find_manifest(run.results, run.store, "web/all").parts]
    assert parts == ["00000", "00001"]
    assert remove_outdated_parts(settings(web=2), run.results) == 0


def test_pointers_with_numbers_that_are_no_part_of_a_smaller_corpus_stay(run):
    run.rows("copies/val/web/00002.json", [], DROPS, testset="val", corpus="web", part="00002")
    run.rows("duplicates/own/web/00007.json", [], DROPS, corpus="web", group="00007")
    run.rows("samples/old/00009.json", [], DROPS, corpus="old", part="00009")

    assert remove_outdated_parts(settings(web=3, val=1), run.results) == 0


def test_a_manifest_whose_parts_are_not_those_of_the_samples_is_refused(run):
    shards = [[(uid(shard), "x", picture(shard))] for shard in range(3)]
    run.index("web", "00000", shards)

    with pytest.raises(StoreError, match=r"all/00000\.json: 1 rows, but .*web has 3 rows"):
        find_manifest(run.results, run.store, "web/all")

    remove_outdated_parts(settings(web=1), run.results)
    run.manifest("web", "all", "00000", [(shard, 0, None) for shard in range(3)])
    assert len(find_manifest(run.results, run.store, "web/all").parts) == 1
