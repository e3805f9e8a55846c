from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageFont

from clipaudit.corpora.reasons import Unusable
from clipaudit.errors import ConfigError, StepError
from clipaudit.parrot import gpu_spotter
from clipaudit.parrot.gpu_spotter import GpuSpotter, _batches
from clipaudit.parrot.settings import Spotting
from clipaudit.parrot.spotters import RapidSpotter
from clipaudit.parrot.wiring import ParrotFiles

FONT = str(Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf")
WORDS = ("zebra", "big SALE", "coffee machine", "A", "extraordinarily long")


def drawn(text, width=160, height=64):
    picture = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(picture)
    draw.text((8, 16), text, fill="black", font=ImageFont.truetype(FONT, 22))
    return np.asarray(picture)


def texts(found):
    return [[span.text for span in spans] for spans in found]


@pytest.fixture(scope="module")
def pictures():
    """Images of three shapes with words, and one without."""
    widths = (160, 160, 256, 96, 300)
    shown = [drawn(word, width) for word, width in zip(WORDS, widths, strict=True)]
    return [*shown, drawn("")]


@pytest.fixture(scope="module")
def small_batches():
    """Batches of two, which a CPU computes faster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_spotter, "IMAGES", 2)
        patch.setattr(gpu_spotter, "LINES", 2)
        yield


@pytest.fixture(scope="module")
def spotter(small_batches):
    return GpuSpotter(Spotting(), device="cpu")


@pytest.fixture(scope="module")
def found(spotter, pictures):
    return spotter.spot_all(pictures)


def test_words_are_read_as_without_a_gpu(found, pictures):
    alone = RapidSpotter(Spotting())

    assert texts(found) == texts([alone.spot(pixels) for pixels in pictures])
    assert texts(found)[0] == ["zebra"]
    assert texts(found)[-1] == []


def test_words_are_where_they_are_without_a_gpu(found, pictures):
    [span] = RapidSpotter(Spotting()).spot(pictures[1])

    assert found[1][0].polygon == pytest.approx(span.polygon, abs=1)
    assert [word.text for word in found[1][0].words] == ["big", "SALE"]
    assert found[1][0].score == pytest.approx(span.score, abs=0.05)


def test_an_images_text_does_not_depend_on_the_others(spotter, found, pictures):
    assert spotter.spot_all(pictures[::-1])[::-1] == found
    assert spotter.spot(pictures[2]) == found[2]


def test_text_upside_down_is_read(spotter):
    turned = np.ascontiguousarray(drawn("coffee machine", 256)[::-1, ::-1])

    assert "coffee machine" in " ".join(texts([spotter.spot(turned)])[0])


def test_an_image_on_which_the_engine_fails_stops_no_other(spotter, found, pictures, monkeypatch):
    whole = gpu_spotter.DetPreProcess.resize

    def failing(self, image):
        if image.shape[1] == pictures[2].shape[1] * 2:
            raise ValueError("of this image")
        return whole(self, image)

    monkeypatch.setattr(gpu_spotter.DetPreProcess, "resize", failing)

    first, lost = spotter.spot_all([pictures[0], pictures[2]])

    assert first == found[0]
    assert isinstance(lost, Unusable)
    assert lost.detail == "of this image"


def test_full_memory_of_the_gpu_is_told(spotter, pictures, monkeypatch):
    def full(images):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(spotter, "_maps", full)

    with pytest.raises(StepError, match=r"memory is full \(CUDA out of memory.*fewer threads"):
        spotter.spot_all(pictures[:2])


@pytest.mark.skipif(torch.cuda.is_available(), reason="has CUDA")
def test_cuda_without_a_gpu_is_refused(pictures):
    with pytest.raises(ConfigError, match="device is cuda, but torch finds no CUDA device"):
        GpuSpotter(Spotting()).spot_all(pictures[:1])


@pytest.mark.parametrize(("width", "sizes"), [(2, [4, 4]), (3, [2, 2, 2]), (9, [1] * 5)])
def test_batches_of_large_images_are_smaller_and_all_are_full(width, sizes):
    images = [np.full((2, width), number, np.uint8) for number in range(1, 6)]

    batches = list(_batches(images, [(2, width)] * 5, 4, 4))

    assert [len(batch) for batch, _ in batches] == sizes
    assert [number for _, numbers in batches for number in numbers] == list(range(5))
    shown = [batch[at, 0, 0] for batch, numbers in batches for at in range(len(numbers))]
    assert shown == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("resources", "network"), [({}, "onnxruntime"), ({"gpu": 1}, "torch")])
def test_the_key_of_a_job_names_the_library_that_computes(resources, network):
    files = SimpleNamespace(audit=SimpleNamespace(spotting=Spotting()))

    libraries = ParrotFiles.spotter_libraries(files, None, resources)

    assert {"onnxruntime", "torch"} & set(libraries) == {network}


@pytest.mark.gpu
def test_a_gpu_reads_the_same_again(pictures, found):
    on_gpu = GpuSpotter(Spotting())

    again = on_gpu.spot_all(pictures)

    assert texts(again) == texts(found)
    assert on_gpu.spot_all(pictures[::-1])[::-1] == again
