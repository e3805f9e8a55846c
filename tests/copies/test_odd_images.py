"""Images that are corrupt, tiny, deep, of other colours, moving or transparent, and edge cases."""

import io

import numpy as np
import pytest
from drawnimages import drawing, flat, png, write_shard
from PIL import Image

from clipaudit.copies.candidates import Described, find_candidates
from clipaudit.copies.hashing import hash_images
from clipaudit.copies.verified import verify_candidates
from clipaudit.copies.views import reduced, train_views
from clipaudit.copies.views import test_views as all_views
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.lookup import read_pictures
from clipaudit.corpora.samples import index_shards


def saved(image, kind="PNG", **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def searched(folder, name, files, views):
    """The description of a shard of image files, its reader, and how many rows were dropped."""
    path = folder / f"{name}.tar"
    write_shard(path, files)
    samples, drops = index_shards(
        [(0, path)], Captioning("none"), needs_caption=False, needs_label=False
    )
    described = Described(*hash_images([(0, path)], samples, views))
    return described, lambda wanted: read_pictures({0: path}, wanted), len(drops)


def kinds(folder, tests, train):
    """The kinds of pairs, by the rows of both images."""
    left, read_left, _ = searched(folder, "tests", tests, all_views)
    right, read_right, _ = searched(folder, "train", train, train_views)
    found = find_candidates(left, right, distance=31)
    pairs = [
        row
        for table in verify_candidates(found, read_left, read_right)
        for row in table.to_pylist()
    ]
    return {(row["other_row"], row["row"]): row["kind"] for row in pairs}


@pytest.fixture
def image():
    return Image.fromarray(drawing(3, (160, 120)))


def test_corrupt_and_one_pixel_images_are_dropped_with_a_reason(tmp_path, image):
    files = [saved(image), b"not an image", saved(image)[:200], png(flat(9, (1, 1)))]

    described, _, dropped = searched(tmp_path, "web", files, train_views)

    assert (len(described.images), dropped) == (1, 3)


def test_an_image_in_another_colour_space_or_format_is_a_copy(tmp_path, image):
    deep = Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)
    train = [
        saved(image.convert("CMYK"), "JPEG", quality=95),
        saved(image.convert("RGBA")),
        saved(deep),
        saved(image, "GIF", save_all=True, append_images=[Image.fromarray(drawing(4, (160, 120)))]),
        saved(image, "WEBP", quality=80),
    ]

    found = kinds(tmp_path, [saved(image)], train)

    assert found[0, 1] == "identical pixels"
    assert {found[0, row] for row in (0, 3, 4)} <= {"identical pixels", "re-encoded or resized"}


def icon(seed, colour="black"):
    """A file of a drawing's outline in one colour, on transparent black."""
    outline = Image.fromarray((drawing(seed, (160, 160)).mean(axis=2) < 128).astype(np.uint8) * 255)
    image = Image.new("RGBA", outline.size, (0, 0, 0, 0))
    image.paste(colour, mask=outline)
    return image


def test_transparent_images_are_compared_as_pages_show_them(tmp_path):
    page = Image.new("RGBA", (160, 160), "white")
    shown = Image.alpha_composite(page, icon(3)).convert("RGB")

    found = kinds(tmp_path, [saved(icon(3))], [saved(icon(4)), saved(shown, "JPEG", quality=90)])

    assert found.get((0, 0), "lookalike") == "lookalike"
    assert found[0, 1] == "re-encoded or resized"


def test_a_test_set_equal_to_the_training_set_has_identical_bytes(tmp_path):
    files = [png(drawing(seed)) for seed in range(4)]

    found = kinds(tmp_path, files, files)

    assert {found[row, row] for row in range(4)} == {"identical bytes"}


def test_images_equal_only_after_reduction_are_resized_and_not_identical(tmp_path):
    large = np.kron(drawing(3, (320, 300)), np.ones((4, 4, 1), np.uint8))

    found = kinds(tmp_path, [png(large)], [png(reduced(large, 512))])

    assert found == {(0, 0): "re-encoded or resized"}


def test_all_equal_images_are_copies(tmp_path):
    files = [png(flat(120))] * 3

    assert len(kinds(tmp_path, files, files)) == 9


@pytest.mark.parametrize(("tests", "train"), [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_zero_or_one_image_causes_no_error(tmp_path, tests, train):
    drawn = [png(drawing(seed)) for seed in range(3)]

    found = kinds(tmp_path, drawn[:tests], drawn[:train])

    assert len([kind for kind in found.values() if kind == "identical bytes"]) == min(tests, train)
