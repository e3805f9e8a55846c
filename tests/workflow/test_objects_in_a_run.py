"""Objects in images in runs of the memorization audit: given, detected, and blurred faces."""

import polars as pl
import pytest
import torch
from microproject import read
from tinydetector import NAMES, write_detr

SETTINGS = "config/micro_memorization.yaml"
SOURCES = ("scenes", "album")
BY_UID = "column: uid, join_on: uid"


def test_faces_are_blurred_before_anything_reads_the_images(memorizing):
    shards = [f"album/{number}.tar" for number in range(11)]  # ten are one job, the last another
    (memorizing.folder / "album").mkdir()
    for shard in shards:
        (memorizing.folder / shard).symlink_to(memorizing.folder / "data/micro/album/00000.tar")
    corpora = "  albums: {shards: 'album/{0..10}.tar', captions: texts}\n"
    corpora += "  veiled: {shards: 'data/blurred/veiled/{00000..00010}.tar', captions: texts, "
    corpora += "blurred: {of: albums, boxes: objects}}\n"
    memorizing.edit(SETTINGS, "\nrecipes:", f"{corpora}\nrecipes:")

    memorizing.run(config=SETTINGS, target="results_micro/samples/veiled/00000.json")

    plain, veiled = (read(memorizing, f"samples/{name}/*") for name in ("album", "veiled"))
    for shard in range(11):
        own = veiled.filter(pl.col("shard") == shard)
        assert plain["row"].equals(own["row"])
        assert plain["caption"].equals(own["caption"], null_equal=False)
        assert (plain["image_sha256"] != own["image_sha256"]).all(ignore_nulls=False)


def test_objects_given_by_uid_equal_those_that_the_dataset_states(memorizing):
    before = {path: digest for path, digest in memorizing.digests().items() if "objects/" in path}
    for source in SOURCES:
        objects = read(memorizing, f"objects/{source}.drawn/*")
        samples = read(memorizing, f"samples/{source}.drawn/*").select("shard", "row", "uid")
        given = samples.join(objects, on=["shard", "row"], maintain_order="left").reverse()
        given.write_parquet(memorizing.folder / f"{source}.parquet")
    files = ", ".join(f"{name}: {{files: {name}.parquet, {BY_UID}}}" for name in SOURCES)
    objects = f"objects: {{annotator: given, given: {{{files}}}}}"
    memorizing.edit(SETTINGS, "objects: {annotator: dataset}", objects)

    memorizing.run(config=SETTINGS, target="results_micro/object_counts/album.json")

    after = memorizing.digests()
    assert {path: after[path] for path in before if "album" in path} == {
        path: digest for path, digest in before.items() if "album" in path
    }
    assert "take_objects" in str(memorizing.computed_steps(set()))


@pytest.mark.long
def test_an_annotator_that_finds_no_object_is_refused_before_any_training(memorizing):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        write_detr(memorizing.folder / "detector")
    objects = "objects: {checkpoint: detector, threshold: 0.999999, shorter_side: 96}"
    memorizing.edit(SETTINGS, "objects: {annotator: dataset}", objects)
    memorizing.edit(SETTINGS, "epochs: 2", "epochs: 3")
    before = memorizing.computed()

    target = "results_micro/models/brief-scenes/set-a.json"
    output = memorizing.run(config=SETTINGS, target=target, ok=False)

    assert "transformers gives an object for 0 of" in output
    assert "Lower memorization.objects.threshold" in output
    assert not [step for step in memorizing.computed_steps(before) if step.startswith("train")]


@pytest.mark.long
def test_a_detector_of_the_user_finds_the_objects(memorizing):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        write_detr(memorizing.folder / "detector")
    memorizing.edit(
        SETTINGS,
        "objects: {annotator: dataset}",
        "objects: {checkpoint: detector, threshold: 0.01, shorter_side: 96}",
    )

    memorizing.run(config=SETTINGS, target="results_micro/objects/album.drawn/00000.json")

    found = read(memorizing, "objects/album.drawn/*")
    assert len(found) == len(read(memorizing, "samples/album.drawn/*"))
    assert min(score for scores in found["scores"] for score in scores) > 0.01
    vocabulary = read(memorizing, "vocabulary/album.drawn/*")
    assert dict(vocabulary.select("label", "name").iter_rows()) == NAMES
