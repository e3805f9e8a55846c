import pytest
from tinyclipart import huge_png, library, put, samples

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.samples import index_shards
from clipaudit.demo.clipart import shards
from clipaudit.demo.clipart.shards import write_shards
from clipaudit.errors import InputError


@pytest.fixture
def drawings(tmp_path):
    return library(tmp_path / "drawings")


def written(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_every_drawing_is_a_sample_of_exactly_one_set(drawings, tmp_path):
    summary = write_shards(tmp_path / "out", drawings, processes=1)

    found = {name: samples(tmp_path / f"out/{name}/00000.tar") for name in ("web", "test")}
    assert {name: len(some) for name, some in found.items()} == summary["samples"]
    sources = [fields["source"] for some in found.values() for *_, fields in some]
    assert sorted(sources) == [f"png/shapes/disc_{number:02d}.png" for number in range(60)]
    assert summary["stating"]["title"] == 60


def test_samples_are_shuffled_and_split_into_shards(drawings, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "SAMPLES_PER_SHARD", 25)
    summary = write_shards(tmp_path / "out", drawings, processes=1)

    tars = sorted((tmp_path / "out/web").glob("*.tar"))
    parts = [samples(tar) for tar in tars]
    assert [len(part) for part in parts] == [25, 25, summary["samples"]["web"] - 50]
    keys = [key for part in parts for key, *_ in part]
    assert keys == sorted(keys)
    sources = [fields["source"] for part in parts for *_, fields in part]
    assert sources != sorted(sources)


def test_the_bytes_are_the_same_for_any_number_of_processes(drawings, tmp_path):
    for name, processes in (("one", 1), ("again", 1), ("two", 2)):
        write_shards(tmp_path / name, drawings, processes=processes)

    assert written(tmp_path / "one") == written(tmp_path / "again") == written(tmp_path / "two")


def test_surplus_tars_of_an_earlier_run_are_removed(drawings, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(shards, "SAMPLES_PER_SHARD", 5)
        write_shards(tmp_path / "out", drawings, processes=1)
    write_shards(tmp_path / "out", drawings, processes=1)

    assert sorted(written(tmp_path / "out")) == ["clipart.json", "test/00000.tar", "web/00000.tar"]


def test_a_failed_write_leaves_no_summary(drawings, tmp_path):
    write_shards(tmp_path / "out", drawings, processes=1)
    (drawings / "svg/shapes/disc_07.svg").unlink()
    (drawings / "svg/shapes/disc_07.svg").symlink_to("gone.svg")

    with pytest.raises(InputError, match=r"disc_07\.svg: a link that leads out of .* to no file"):
        write_shards(tmp_path / "out", drawings, processes=1)

    assert not (tmp_path / "out/clipart.json").exists()


def test_the_index_drops_refused_drawings_and_keeps_all_others(drawings, tmp_path):
    put(drawings, "signs/bomb", huge_png(20990, 29700))
    summary = write_shards(tmp_path / "out", drawings, processes=1)

    tars = list(enumerate(sorted((tmp_path / "out").glob("*/*.tar"))))
    kept, drops = index_shards(tars, Captioning("text"), needs_caption=True, needs_label=False)

    assert list(summary["refused_pictures"]) == ["signs/bomb"]
    assert drops["reason"].to_pylist() == ["absurd image size"]
    assert len(kept) == 60
