from types import SimpleNamespace

import pytest

from clipaudit.config.loading import parse_settings
from clipaudit.copies.wiring import CopiesFiles
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.models import ModelFiles

SETTINGS = {
    "corpora": {
        "web": {"shards": "web/{0..3}.tar", "shards_per_part": 2},
        "val": {"shards": "val/0.tar"},
    },
    "encoders": {"own": {"architecture": "vit", "pretrained": "tag"}},
    "architectures": {"vit": {"open_clip": "ViT-B-32"}},
    "copies": {"train": "web", "test_sets": ["val"]},
}


@pytest.fixture
def files():
    def build(**copies):
        run = parse_settings({**SETTINGS, "copies": {**SETTINGS["copies"], **copies}})
        return CopiesFiles(run.copies, ModelFiles(CorpusFiles(run)))

    return build


def part(number):
    return SimpleNamespace(corpus="web", testset="val", part=f"{number:05d}")


def test_a_search_for_a_test_set_in_a_part_needs_no_model(files):
    inputs = files().candidate_inputs(part(1))

    assert inputs["images"] == ["results/images/web/00001.json"]
    assert inputs["other_images"] == ["results/images/val/00000.json"]
    assert inputs["thresholds"] == ["results/hash_calibration/thresholds.json"]
    assert inputs["embeddings"] == inputs["encoder_thresholds"] == []


def test_a_part_is_not_searched_for_repeats_in_later_parts(files):
    assert files().repeat_inputs(part(0))["other_images"] == ["results/images/web/00000.json"]
    assert len(files().repeat_inputs(part(1))["other_images"]) == 2


def test_given_thresholds_need_no_calibration(files):
    given = files(distance=20, encoders=["own"], similarity={"own": 0.9})

    inputs = given.candidate_inputs(part(0))

    assert inputs["thresholds"] == inputs["encoder_thresholds"] == []
    assert inputs["embeddings"] == ["results/embeddings/own/web/00000.json"]


def test_only_test_sets_are_hashed_in_all_views(files):
    names = {name: SimpleNamespace(corpus=name) for name in ("web", "val")}

    assert [files().views(names[name]) for name in ("web", "val")] == ["train", "test"]


def test_only_the_training_corpus_reads_a_sample(files):
    sampled = files(sample=10)

    assert sampled.sample(part(0)) == ["results/searched/web.json"]
    assert sampled.sample(SimpleNamespace(corpus="val")) == []
    assert files().sample(part(0)) == []


def test_a_seed_decides_which_images_are_hashed_only_of_a_sample(files):
    web, val = SimpleNamespace(corpus="web"), SimpleNamespace(corpus="val")

    assert files(seed=7).sample_seed(web) is None
    assert files(seed=7, sample=5).sample_seed(web) == 7
    assert files(seed=7, sample=5).sample_seed(val) is None
