import copy
import io
import json
import logging
import os
import shutil
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from PIL import Image
from tinyclip import index, text_shards, without, write_shard
from tinydetector import NAMES, write_detr, write_lw_detr, write_yolos

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.shards import first_image, raw_samples
from clipaudit.errors import InputError
from clipaudit.memorization.detection import _Resized, _whole_sums, detect_objects
from clipaudit.memorization.detectors import Detector, load_detector
from clipaudit.memorization.objects import OBJECTS
from clipaudit.models.checkpoints import checkpoint_folder

# some tests use more workers than cores, and torch warns of that
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder with a checkpoint of each kind."""
    paths = {name: tmp_path_factory.mktemp(name) for name in ("detr", "yolos")}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        write_detr(paths["detr"])
        write_yolos(paths["yolos"])
    return paths


@pytest.fixture(scope="module")
def detectors(folders):
    return {name: load_detector(str(folder), device=CPU) for name, folder in folders.items()}


@pytest.fixture
def detector(detectors):
    return detectors["detr"]


@pytest.fixture
def shards(tmp_path):
    return text_shards(tmp_path, [4, 1, 5])


def detected(shards, samples, detector, workers=0, threshold=0.0, side=40, size=3, device=CPU):
    drops = Drops("annotate")
    tables = detect_objects(
        shards,
        samples,
        detector,
        threshold=threshold,
        shorter_side=side,
        batch_size=size,
        workers=workers,
        device=device,
        drops=drops,
    )
    return pa.concat_tables([OBJECTS.empty_table(), *tables]).combine_chunks(), drops.table()


def scores(table):
    return np.array(table["scores"].combine_chunks().flatten())


def of_shard(table, shard):
    return table.filter(pc.equal(table["shard"], shard))


# --- loading --------------------------------------------------------------------------------------


def test_the_vocabulary_has_all_labels_of_the_detector(detector):
    rows = [{"label": label, "name": name} for label, name in NAMES.items()]

    assert detector.vocabulary().to_pylist() == rows


def test_loading_prints_and_logs_nothing(folders, capfd, caplog):
    load_detector(str(folders["detr"]), device=CPU)

    assert capfd.readouterr() == ("", "")
    assert caplog.text == ""


def test_a_name_is_found_in_the_hub_cache(folders, tmp_path, monkeypatch):
    snapshot = tmp_path / "models--own--tiny" / "snapshots" / ("0" * 40)
    shutil.copytree(folders["detr"], snapshot)
    refs = snapshot.parents[1] / "refs"
    refs.mkdir()
    (refs / "main").write_text("0" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))

    assert checkpoint_folder("own/tiny") == snapshot


@pytest.mark.parametrize("name", ["own/absent", "no folder either", "/absent/folder"])
def test_a_missing_checkpoint_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))

    with pytest.raises(InputError, match=f"{name}: neither a folder nor .* set HF_HOME"):
        load_detector(name, device=CPU)


@pytest.mark.parametrize(
    ("changed", "by"), [({"do_rescale": False}, "1"), ({"rescale_factor": 0.5}, "0.5")]
)
def test_a_detector_of_pixels_of_another_scale_is_refused(tmp_path, changed, by):
    write_detr(tmp_path)
    path = tmp_path / "preprocessor_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))

    with pytest.raises(InputError, match=f"scaled by {by}, not by 1/255"):
        load_detector(str(tmp_path), device=CPU)


@pytest.mark.parametrize("name", ["config.json", "preprocessor_config.json", "model.safetensors"])
@pytest.mark.parametrize("damage", [os.unlink, lambda path: path.write_bytes(b"broken")])
def test_a_damaged_checkpoint_is_refused(folders, tmp_path, name, damage):
    folder = shutil.copytree(folders["yolos"], tmp_path / "own")
    damage(folder / name)

    with pytest.raises(InputError, match="own: not a readable object-detection checkpoint"):
        load_detector(str(folder), device=CPU)


def test_missing_weights_are_refused(folders, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = shutil.copytree(folders["yolos"], tmp_path / "own")
    weights = load_file(folder / "model.safetensors")
    del weights["class_labels_classifier.layers.2.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    with pytest.raises(InputError, match=r"own: 1 weights .* class_labels_classifier\.layers\.2"):
        load_detector(str(folder), device=CPU)


def test_torch_weights_are_read_without_running_their_code(folders, tmp_path):
    from safetensors.torch import load_file

    folder = shutil.copytree(folders["yolos"], tmp_path / "own")
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()

    torch.save(weights, folder / "pytorch_model.bin")
    assert load_detector(str(folder), device=CPU).names == NAMES

    torch.save(weights | {"code": Drops("annotate")}, folder / "pytorch_model.bin")
    with pytest.raises(InputError, match="own: not a readable"):
        load_detector(str(folder), device=CPU)


# --- detecting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["detr", "yolos"])
def test_each_sample_has_one_row_in_order(shards, detectors, name):
    samples = index(shards)

    table, drops = detected(shards, samples, detectors[name])

    assert table.schema == OBJECTS
    for column in ("shard", "row"):
        assert table[column].to_pylist() == samples[column].to_pylist()
    assert len(scores(table)) > 0
    assert len(drops) == 0


@pytest.mark.parametrize("name", ["detr", "yolos"])
def test_values_equal_those_of_transformers(shards, detectors, name):
    """At the images' own shorter side (43 x 40) nothing is resized for the DETR."""
    detector = detectors[name]
    pictures = [open_picture(first_image(raw.members)).rgb for raw in raw_samples(shards[2][1])]
    table, _ = detected(shards, index(shards), detector)

    if name == "yolos":
        pictures = [picture.resize((40, 40), Image.Resampling.BILINEAR) for picture in pictures]
    settings = {"do_resize": False}
    inputs = detector.processor(pictures, return_tensors="pt", **settings)
    with torch.inference_mode():
        outputs = detector.model(**inputs)
    wanted = detector.processor.post_process_object_detection(outputs, 0.0, [(40, 43)] * 5)

    for row, one in zip(of_shard(table, 2).to_pylist(), wanted, strict=True):
        order = torch.argsort(one["scores"], descending=True)
        np.testing.assert_allclose(row["scores"], one["scores"][order], atol=1e-5)
        assert sorted(row["labels"]) == sorted(one["labels"].tolist())


def test_a_detector_of_images_of_one_size_gets_them_stretched(shards, tmp_path):
    """LW-DETR and RF-DETR take a mask and their processors pad, but windows divide no others."""
    write_lw_detr(tmp_path)
    detector = load_detector(str(tmp_path), device=CPU)
    pictures = [open_picture(first_image(raw.members)).rgb for raw in raw_samples(shards[2][1])]

    table, drops = detected(shards, index(shards), detector, side=64)

    inputs = detector.processor(pictures, return_tensors="pt")
    with torch.inference_mode():
        outputs = detector.model(**inputs)
    wanted = detector.processor.post_process_object_detection(outputs, 0.0, [(40, 43)] * 5)
    for row, one in zip(of_shard(table, 2).to_pylist(), wanted, strict=True):
        np.testing.assert_allclose(row["scores"], np.sort(one["scores"])[::-1], atol=1e-3)
    assert len(drops) == 0


def test_a_side_that_a_detector_does_not_take_is_refused_with_its_own(shards, tmp_path):
    write_lw_detr(tmp_path)
    detector = load_detector(str(tmp_path), device=CPU)

    with pytest.raises(InputError, match=r"no images of 80 x 80 pixels .* `shorter_side` to 64"):
        detected(shards, index(shards), detector, side=80)


def test_objects_are_sorted_by_score_and_boxes_are_within_the_image(shards, detector):
    table, _ = detected(shards, index(shards), detector, side=20)

    boxes = np.array(table["boxes"].combine_chunks().flatten().to_pylist())
    corners = np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], axis=1)
    assert corners.min() >= 0
    assert np.all(corners.max(axis=0) <= np.array([43, 40, 43, 40]) + 1e-4)  # of float32
    assert np.all(boxes[:, 2:] >= 0)
    for row in table["scores"].to_pylist():
        assert row == sorted(row, reverse=True)


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_workers_does_not_matter(shards, detector, workers):
    samples = index(shards)

    assert detected(shards, samples, detector) == detected(shards, samples, detector, workers)


def test_parts_of_one_or_three_shards_give_the_same_rows(shards, detector):
    samples = index(shards)

    whole, _ = detected(shards, samples, detector)
    parts = [detected([each], of_shard(samples, each[0]), detector)[0] for each in shards]

    assert pa.concat_tables(parts).combine_chunks() == whole


def test_the_batch_size_changes_only_rounding(shards, detector):
    samples = index(shards)

    large, _ = detected(shards, samples, detector, size=5)
    small, _ = detected(shards, samples, detector, size=2)

    assert large["labels"].to_pylist() == small["labels"].to_pylist()
    np.testing.assert_allclose(scores(large), scores(small), atol=1e-5)


def test_an_object_counts_above_the_threshold_but_not_at_it(shards, detector):
    samples = index(shards)
    found = scores(detected(shards, samples, detector)[0])
    threshold = float(np.sort(found)[len(found) // 2])

    table, _ = detected(shards, samples, detector, threshold=threshold)

    np.testing.assert_array_equal(scores(table), found[found > threshold])


def test_images_without_objects_have_rows_and_are_counted(shards, detector, caplog):
    caplog.set_level(logging.INFO, "clipaudit")

    table, drops = detected(shards, index(shards), detector, threshold=1.0)

    assert table["labels"].to_pylist() == [[]] * 10
    assert len(drops) == 0
    assert "10 of 10 images show no object above 1" in caplog.text


def test_only_rows_of_the_samples_are_annotated(shards, detector):
    samples = without(index(shards), (0, 2), (1, 0), (2, 0))

    table, _ = detected(shards, samples, detector)

    assert table["row"].to_pylist() == samples["row"].to_pylist()


def test_rows_are_annotated_or_dropped(shards, detector):
    samples = index(shards)
    write_shard(shards[1][1], [{"png": b"broken", "txt": b"a cat"}])

    table, drops = detected(shards, samples, detector)

    assert len(table) + len(drops) == len(samples)
    columns = ("shard", "row", "key", "stage", "reason")
    assert [tuple(drop[name] for name in columns) for drop in drops.to_pylist()] == [
        (1, 0, "00000", "annotate", "corrupt image")
    ]


def test_non_finite_numbers_are_dropped(shards, detector):
    samples = index(shards)
    broken = copy.deepcopy(detector)
    with torch.no_grad():
        broken.model.class_embed[1].weight.fill_(torch.nan)

    table, drops = detected(shards, samples, broken)

    assert len(table) == 0
    assert drops["reason"].to_pylist() == ["detection not finite"] * len(samples)


def test_no_samples_give_no_rows(shards, detector):
    table, drops = detected(shards, index(shards).slice(0, 0), detector)

    assert len(table) == len(drops) == 0


@pytest.mark.parametrize(
    ("size", "fitted"),
    [((80, 20), (160, 40)), ((20, 60), (40, 120)), ((400, 1), (160, 1))],
)
def test_images_are_scaled_to_the_shorter_side_and_banners_by_their_longer_side(size, fitted):
    scale = _Resized(40, Image.Resampling.BILINEAR, keeps_aspect=True)

    assert scale(Image.new("RGB", size)).size == fitted


def encoded(picture):
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def test_wide_and_tall_images_of_a_batch_are_padded_as_in_transformers(tmp_path, detector):
    pictures = [Image.effect_noise(size, 90).convert("RGB") for size in ((90, 40), (40, 56))]
    samples = [{"png": encoded(picture), "txt": b"a cat"} for picture in pictures]
    shards = [(0, write_shard(tmp_path / "0.tar", samples))]

    table, _ = detected(shards, index(shards), detector, size=2)

    inputs = detector.processor(pictures, return_tensors="pt", do_resize=False)
    assert inputs["pixel_values"].shape == (2, 3, 56, 90)
    with torch.inference_mode():
        outputs = detector.model(**inputs)
    sizes = [(40, 90), (56, 40)]
    wanted = detector.processor.post_process_object_detection(outputs, 0.0, sizes)
    for found, one in zip(table["scores"].to_pylist(), wanted, strict=True):
        np.testing.assert_allclose(found, np.sort(one["scores"])[::-1], atol=1e-5)


def test_cumsum_is_the_only_allowed_operation_without_a_deterministic_kernel():
    with _whole_sums():
        warnings.warn("cumsum_cuda_kernel does not have a deterministic impl", stacklevel=1)
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(UserWarning, match="put_"), _whole_sums():
            torch.zeros(3).put_(torch.tensor([0]), torch.ones(1))
        assert not torch.is_deterministic_algorithms_warn_only_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["detr", "yolos"])
def test_a_gpu_gives_the_same_result(shards, detectors, name):
    samples, on_gpu = index(shards), copy.deepcopy(detectors[name])
    assert isinstance(on_gpu, Detector)
    torch.use_deterministic_algorithms(True)
    try:
        tables = [
            detected(shards, samples, on_gpu, device=torch.device("cuda"))[0] for _ in range(2)
        ]
    finally:
        torch.use_deterministic_algorithms(False)

    assert tables[0] == tables[1]
    wanted = scores(detected(shards, samples, detectors[name])[0])
    np.testing.assert_allclose(scores(tables[0]), wanted, atol=1e-2)  # TF32 has ten bits
