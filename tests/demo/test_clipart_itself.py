"""A handful of the library's own drawings. The first run fetches 156 MB, as `make clipart` does."""

import shutil

import pytest
from clipartfiles import real_drawings
from tinyclipart import samples

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.samples import index_shards
from clipaudit.demo.clipart.drawings import find_drawings
from clipaudit.demo.clipart.shards import write_shards

pytestmark = pytest.mark.slow
HANDFUL = (
    "food/fruit/apple_mateya_01",  # 168 million pixels
    "signs_and_symbols/stop_sign_miguel_s_nchez_",  # 623 million
    "office/floppy_frederic_moser_01",  # its SVG declares entities
    "signs_and_symbols/barcode_ean13",  # with text
    "computer/icons/flat-theme/action/viewmag+",
    "geography/astronomy/southen_cross_01",
    "science/astronomy/southen_cross_01",  # a link to the one above
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clipart")
    real = real_drawings()
    for name in HANDFUL:
        for kind in ("png", "svg"):
            path = folder / f"some/{kind}/{name}.{kind}"
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(real / f"{kind}/{name}.{kind}", path)
    write_shards(folder, folder / "some", processes=1)
    return folder


def named(folder):
    found = [sample for tar in folder.glob("*/*.tar") for sample in samples(tar)]
    return {
        fields["source"][4:-4]: (picture, caption, fields) for _, picture, caption, fields in found
    }


def test_every_drawing_is_a_sample_with_a_caption(written):
    captions = {name: caption for name, (_, caption, _) in named(written).items()}

    assert sorted(captions) == sorted(HANDFUL)
    assert captions["food/fruit/apple_mateya_01"] == "apple"
    assert captions["office/floppy_frederic_moser_01"] == "floppy frederic moser"


def test_the_index_drops_only_the_decompression_bomb(written):
    tars = list(enumerate(sorted(written.glob("*/*.tar"))))

    kept, drops = index_shards(tars, Captioning("text"), needs_caption=True, needs_label=False)

    assert drops["reason"].to_pylist() == ["absurd image size"]
    assert len(kept) == len(HANDFUL) - 1
    assert max(kept["width"].to_pylist() + kept["height"].to_pylist()) == 512


def test_a_drawing_in_two_folders_has_the_same_bytes_twice(written):
    found = named(written)

    first, second = (
        found[f"{folder}/astronomy/southen_cross_01"] for folder in ("geography", "science")
    )
    assert first[0] == second[0]


def test_the_statements_of_the_svgs_are_read(written):
    found = named(written)

    assert found["signs_and_symbols/barcode_ean13"][2]["text"] == ["0", "0 75678", "16412 5"]
    assert found["food/fruit/apple_mateya_01"][2]["width"] == 10524
    problem = found["office/floppy_frederic_moser_01"][2]["svg_problem"]
    assert problem == "declares the entity 'ns_flows'"


def test_the_whole_library_has_a_sample_of_each_drawing():
    drawings = find_drawings(real_drawings())

    assert len(drawings) == 8121
    assert sum(drawing.set == "test" for drawing in drawings) == 639
