"""benchmarks/auditdata.py: the images that the stages of an audit are measured on."""

import auditdata
import pytest
from tinyclipart import library

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.samples import index_shards
from clipaudit.demo.clipart.shards import write_shards
from clipaudit.errors import InputError


def test_images_made_from_clip_art_are_all_indexed_and_distinct(tmp_path, monkeypatch):
    monkeypatch.setattr(auditdata, "PER_TAR", 50)
    write_shards(tmp_path / "clipart", library(tmp_path / "drawings"), processes=1)
    drawings = list(auditdata.read_drawings(tmp_path / "clipart"))

    auditdata.write_set(tmp_path / "set", drawings, 130, seed=0)

    tars = list(enumerate(sorted((tmp_path / "set").glob("*.tar"))))
    samples, drops = index_shards(tars, Captioning(), needs_caption=True, needs_label=False)
    assert (len(drawings), len(tars), len(samples), len(drops)) == (60, 3, 130, 0)
    assert len(set(samples["image_sha256"].to_pylist())) == 130
    assert {*samples["width"].to_pylist(), *samples["height"].to_pylist()} == {256}


def test_a_folder_without_drawings_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"empty: no tar with a usable image\. `make clipart`"):
        auditdata.make_data(tmp_path / "out", tmp_path / "empty", images=10, embedded=1)
