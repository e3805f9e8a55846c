import os
import re
from types import SimpleNamespace

from clipaudit.config.training import Encoder
from clipaudit.wiring.models import ModelFiles
from clipaudit.wiring.plugins import files_within


def test_an_encoder_trained_here_comes_from_its_model(corpora):
    models = ModelFiles(corpora())
    own = SimpleNamespace(encoder="own")

    assert models.weights(own) == ["results_micro/models/brief/small.json"]
    assert models.vocabulary(own) == ["data/micro/bpe.txt.gz"]
    assert models.encoder(own)["architecture"]["definition"]["embed_dim"] == 16


def test_the_states_of_an_encoder_are_those_of_its_checkpoint(corpora, tmp_path):
    checkpoint = tmp_path / "mine.pt"
    checkpoint.write_bytes(b"123")
    os.utime(checkpoint, ns=(7, 7))
    models = ModelFiles(corpora())
    given = {"architecture": models.architecture_of("own"), "pretrained": str(checkpoint)}
    models.run.encoders["mine"] = Encoder.model_validate(given)

    assert models.states()(SimpleNamespace(encoder="mine")) == [[3, 7]]
    assert models.states()(SimpleNamespace(encoder="own")) == []  # made here


def test_the_title_of_an_encoder_affects_no_key(corpora):
    given = corpora()
    models = ModelFiles(given)
    before = models.settings_of("own")
    given.run.encoders["own"] = given.run.encoders["own"].model_copy(update={"title": "My CLIP"})

    assert models.settings_of("own") == before


def test_the_end_of_a_training_run_is_not_a_checkpoint(corpora):
    models = ModelFiles(corpora("micro_memorization"))

    last, first = (models.trained("brief-scenes/set-a", epoch) for epoch in (2, 1))

    assert last == "results_micro/models/brief-scenes/set-a.json"
    assert first == "results_micro/checkpoints/brief-scenes/set-a/1.json"


def test_only_epochs_that_encoders_name_are_kept(corpora):
    given = corpora("micro_memorization")
    asked = {"model": "brief-scenes/set-a"}
    for name, epoch in (("early", 1), ("late", 2), ("last", None)):
        given.run.encoders[name] = Encoder.model_validate({**asked, "epoch": epoch})
    models = ModelFiles(given)

    kept = {
        manifest: models.kept_epochs(SimpleNamespace(recipe="brief-scenes", manifest=manifest))
        for manifest in ("set-a", "set-b")
    }

    assert kept == {"set-a": [1], "set-b": []}  # after the second epoch it is the model itself


def test_given_embeddings_exclude_their_corpus_from_the_encoder(corpora):
    models = ModelFiles(corpora())
    models.given = {("own", "large"): None}

    assert re.match(models.given_encoders(), "own/large/00000")
    assert not re.match(models.own_encoders(), "own/large/00000")
    assert re.match(models.own_encoders(), "own/small/00000")


def test_given_embeddings_are_checked_with_tars_and_weights_if_images_exist(corpora):
    images, none = (
        SimpleNamespace(encoder="own", corpus=corpus, part="00000")
        for corpus in ("large", "listed")
    )
    models = ModelFiles(
        corpora(listed={"metadata": {"files": "a.parquet", "key": "key"}, "captions": "none"})
    )

    assert len(models.checked_tars(images)) == 2
    assert models.checked_weights(images) == ["results_micro/models/brief/small.json"]
    assert models.checking_encoder(images) == models.encoder(images)
    found = models.checked_tars(none), models.checked_weights(none), models.checking_encoder(none)
    assert found == ([], [], None)


def test_test_sets_with_one_label_set_read_its_classes_once(corpora):
    found = ModelFiles(corpora()).test_set_inputs(["val", "sketch"])

    assert found["classes"] == ["data/micro/classes.txt"]
    assert found["tars"] == ["data/micro/val/00000.tar", "data/micro/sketch/00000.tar"]


def test_subfolders_are_not_files_of_a_folder(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).touch()
    (tmp_path / "c").mkdir()

    assert files_within(str(tmp_path)) == [f"{tmp_path}/a", f"{tmp_path}/b"]


def test_a_missing_folder_has_no_files(tmp_path):
    assert files_within(str(tmp_path / "gone")) == []
