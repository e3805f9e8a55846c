import io
import json
import logging
import os
import tarfile
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from shardzoo import encode, member, sample, tar_bytes

from clipaudit.corpora.blurring import Blurring, blur_shard, blurred, grown
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.faces import Box, face_finder
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.samples import index_shards
from clipaudit.corpora.shards import raw_samples
from clipaudit.errors import InputError

FACE = [8, 6, 10, 12]


def noise(format="PNG", size=(40, 30), mode="RGB", **options):
    """Return an image in which every blur is visible."""
    values = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(values).convert(mode).save(out, format, **options)
    return out.getvalue()


def pixels(data):
    return np.asarray(open_picture(data).rgb)


def blur(source, finder=None, **options):
    """Blur a shard; return the new tar and the counts."""
    target = source.with_name("blurred.tar")
    done = blur_shard(source, target, finder or face_finder(None), **options)
    return target, done


def images(path, extension="png"):
    return [each.members[extension] for each in raw_samples(path)]


def indexed(path):
    """Return the rows of a tar, with the sizes of images, and the reasons of drops."""
    samples, drops = index_shards([(0, path)], Captioning(), needs_caption=True, needs_label=False)
    columns = ["row", "key", "caption", "width", "height", "metadata"]
    return samples.select(columns).to_pylist(), drops.select(["row", "key", "reason"]).to_pylist()


def test_a_face_is_blurred_and_nothing_around_it_changes(shard):
    source = shard(sample("0", image=noise(), extension="png", faces=[FACE]))

    before, after = pixels(noise()), pixels(images(blur(source, margin=0)[0])[0])

    changed = (before != after).any(axis=2)
    inside = np.zeros_like(changed)
    inside[6:18, 8:18] = True
    assert not changed[~inside].any()
    assert changed[inside].mean() > 0.95


def test_no_detail_of_a_face_remains():
    """In a checkerboard of two-pixel squares, all pixels move from 0 or 255 close to their mean."""
    squares = np.kron(np.indices((20, 20)).sum(axis=0) % 2 * 255, np.ones((2, 2)))
    picture = Image.fromarray(np.repeat(squares[:, :, None], 3, axis=2).astype(np.uint8))

    face = np.asarray(blurred(picture, [Box(10, 10, 20, 20)]))[10:30, 10:30]

    assert face.min() >= 120
    assert face.max() <= 136


@given(
    left=st.floats(-50, 90),
    top=st.floats(-50, 90),
    width=st.floats(0, 200),
    height=st.floats(0, 200),
    margin=st.floats(0, 1),
)
def test_a_grown_box_has_exactly_the_pixels_that_its_face_can_touch(
    left, top, width, height, margin
):
    more = margin * np.hypot(width, height)
    columns = [x for x in range(40) if x + 1 > left - more and x < left + width + more]
    rows = [y for y in range(30) if y + 1 > top - more and y < top + height + more]

    place = grown(Box(left, top, width, height), (40, 30), margin)

    if columns and rows:
        assert place == (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
    else:
        assert place is None


@pytest.mark.parametrize("format", ["PNG", "WEBP", "BMP"])
def test_everything_except_the_face_survives_in_the_format_of_the_image(shard, format):
    options = {"lossless": True} if format == "WEBP" else {}
    image = noise(format, **options)
    source = shard(sample("0", image=image, faces=[[0, 0, 4, 4]]))

    after = images(blur(source)[0], "jpg")[0]

    assert open_picture(after).format == format.lower()
    np.testing.assert_array_equal(pixels(after)[8:], pixels(image)[8:])


def test_a_jpeg_keeps_its_quality_and_loses_its_exif(shard):
    exif = Image.Exif()
    exif[0x010E] = "a name"
    source = shard(sample("0", image=noise("JPEG", quality=95, exif=exif), faces=[FACE]))

    after = images(blur(source)[0], "jpg")[0]

    with Image.open(io.BytesIO(after)) as picture:
        assert picture.format == "JPEG"
        assert [layer[1:3] for layer in picture.layer] == [(1, 1)] * 3  # 4:4:4
        assert max(picture.quantization[0]) <= 12  # quality 95
        assert not picture.getexif()


def test_a_gif_becomes_a_png(shard):
    image = noise("GIF")

    after = images(blur(shard(sample("0", image=image, faces=[[0, 0, 4, 4]])))[0], "jpg")[0]

    assert open_picture(after).format == "png"
    np.testing.assert_array_equal(pixels(after)[8:], pixels(image)[8:])


def test_every_other_member_keeps_its_bytes_and_its_place(shard):
    source = shard(
        [
            member("README", b"about"),
            member("set", kind=tarfile.DIRTYPE),
            *sample("set/0", image=noise(), extension="png", faces=[FACE], uid="ab" * 16),
            *sample("set/1", image=noise(), extension="png", faces=[]),
            *sample("set/2", image=noise(), extension="png"),
        ]
    )

    with tarfile.open(source) as old, tarfile.open(blur(source)[0]) as new:
        before = [
            (each.name, each.type, each.isfile() and old.extractfile(each).read()) for each in old
        ]
        after = [
            (each.name, each.type, each.isfile() and new.extractfile(each).read()) for each in new
        ]

    assert [each[:2] for each in after] == [each[:2] for each in before]
    assert [a[0] for a, b in zip(after, before, strict=True) if a != b] == ["set/0.png"]


def test_a_shard_without_faces_keeps_every_block(shard):
    content = tar_bytes([member("0.jpg", encode(), mtime=5, uname="me"), *sample("1")])

    target, done = blur(shard(content))

    assert content.startswith(target.read_bytes())
    assert done == Blurring(2, 0, 0)


def test_two_runs_write_the_same_bytes(shard):
    samples = [sample(str(row), image=noise(), faces=[FACE, [20, 20, 5, 5]]) for row in range(3)]
    source = shard([each for members in samples for each in members])

    first = blur(source)[0].read_bytes()
    os.utime(source, (0, time.time() - 1e6))

    assert blur(source)[0].read_bytes() == first


def test_a_compressed_shard_is_blurred_like_a_plain_one(shard):
    members = [*sample("0", image=noise(), faces=[FACE]), *sample("1")]
    plain = blur(shard(members))[0].read_bytes()

    assert blur(shard(members, mode="w:gz"))[0].read_bytes() == plain


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("key", ["ü" * 90, "a/" * 60 + "b" * 120, "x" * 300])
def test_a_long_name_is_kept(shard, format, key):
    source = shard(sample(key, image=noise(), faces=[FACE]), format=format)

    target, done = blur(source)

    assert done.with_faces == 1
    assert indexed(target) == indexed(source)


def faulty_members():
    """Return samples that the index drops, each for its own reason, among good ones."""
    good = sample("good", image=noise(), extension="png", faces=[FACE])
    return [
        *good,
        *sample("corrupt", image=b"no image", faces=[FACE]),
        *sample("speck", image=encode(size=(1, 1)), faces=[FACE]),
        member("text.txt", b"only a text"),
        member("json.png", noise()),
        member("json.json", b"[no json"),
        *good,
        member("twice.png", noise()),
        member("twice.PNG", noise()),
        member("../climbs.png", noise()),
        member("link.png", kind=tarfile.SYMTYPE, linkname="good.png"),
        *sample("silent", image=noise(), caption=None, faces=[FACE]),
        *sample("last", image=noise(), faces=[FACE]),
    ]


def test_rows_and_drops_do_not_change(shard):
    source = shard(faulty_members())

    target, done = blur(source)

    assert indexed(target) == indexed(source)
    assert len(indexed(target)[1]) == 9
    assert done == Blurring(pictures=4, with_faces=4, faces=4, whole=1)  # one with broken JSON


@pytest.mark.parametrize("lost", [100, 700, 1024, 1500, 3000])
def test_a_truncated_shard_ends_at_the_same_row(shard, lost):
    members = [*sample("0", image=noise(), faces=[FACE]), *sample("1", image=noise(), faces=[FACE])]
    content = tar_bytes(members).rstrip(b"\0")
    source = shard(content[: len(content) // 512 * 512 + 1024 - lost])

    assert indexed(blur(source)[0]) == indexed(source)
    assert indexed(source)[1]


def test_a_damaged_shard_ends_at_the_same_row(shard):
    members = sample("0", image=noise(), faces=[FACE])
    good = tar_bytes(members)
    end = sum(512 + -(-info.size // 512) * 512 for info, _ in members)
    source = shard(good[:end] + b"?" * 512 + good)

    assert indexed(blur(source)[0]) == indexed(source)
    assert [drop["reason"] for drop in indexed(source)[1]] == ["damaged tar"]


def test_a_sample_that_is_too_large_is_copied_in_pieces(shard, monkeypatch):
    monkeypatch.setattr("clipaudit.corpora.shards.MAX_SAMPLE_BYTES", 4000)
    monkeypatch.setattr("clipaudit.corpora.tarmembers._PIECE_BYTES", 1024)
    source = shard(
        [member("0.bin", bytes(range(256)) * 20), *sample("1", image=noise(size=(9, 9)))]
    )

    target, _ = blur(source)

    assert source.read_bytes().startswith(target.read_bytes())
    assert indexed(target) == indexed(source)


def test_a_file_that_is_not_a_tar_leaves_nothing(shard):
    source = shard(b"no tar" * 500)

    with pytest.raises(InputError, match=r"00000\.tar: not a readable tar"):
        blur(source)
    assert [path.name for path in source.parent.iterdir()] == ["00000.tar"]


def test_a_failure_keeps_the_existing_shard(shard):
    source = shard([*sample("0"), *sample("1", faces="none")])
    target = shard(b"before", name="blurred.tar")

    with pytest.raises(InputError, match=r"00000\.tar: 1: `faces` in the JSON is a str"):
        blur(source)
    assert target.read_bytes() == b"before"
    assert len(list(source.parent.iterdir())) == 2


def test_every_image_of_a_sample_is_blurred(shard):
    sidecar = json.dumps({"faces": [FACE]}).encode()
    source = shard(
        [member("0.png", noise()), member("0.jpg", noise("JPEG")), member("0.json", sidecar)]
    )

    target, done = blur(source)

    assert done == Blurring(pictures=2, with_faces=2, faces=2)
    after = next(raw_samples(target)).members
    assert after["json"] == sidecar
    assert after["png"] != noise()
    assert after["jpg"] != noise("JPEG")


def test_a_face_outside_its_image_is_ignored(shard):
    source = shard(sample("0", image=noise(), extension="png", faces=[[90, 90, 5, 5]]))

    target, done = blur(source)

    assert images(target) == [noise()]
    assert done == Blurring(pictures=1, with_faces=0, faces=0)


@pytest.mark.parametrize(
    "sidecar", [b'{"faces": [[8, 6, 10, 12]', b'{"faces": [], "t": "caf\xe9"}']
)
def test_an_image_is_blurred_whole_if_the_json_with_its_faces_is_unreadable(shard, sidecar):
    source = shard([member("0.png", noise()), member("0.json", sidecar)])

    target, done = blur(source)

    assert done == Blurring(pictures=1, with_faces=1, faces=1, whole=1)
    assert np.abs(pixels(images(target)[0]).astype(int) - pixels(noise())).mean() > 30


def test_the_log_gives_the_number_of_faces(shard, caplog):
    caplog.set_level(logging.INFO)

    blur(shard([*sample("0", image=noise(), faces=[FACE, [25, 3, 6, 6]]), *sample("1")]))

    assert "blurred.tar: 2 images, 1 with faces, 2 faces blurred" in caplog.text


def test_a_detector_finds_the_faces_to_blur(shard):
    finder = lambda picture, members: [Box(0, 0, picture.width / 2, 5)]  # noqa: E731
    source = shard(sample("0", image=noise(), extension="png", faces=[]))

    target, done = blur(source, finder, margin=0)

    assert done == Blurring(pictures=1, with_faces=1, faces=1)
    np.testing.assert_array_equal(pixels(images(target)[0])[5:], pixels(noise())[5:])
