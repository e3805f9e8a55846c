import base64
import hashlib
import io
import tarfile
from html.parser import HTMLParser

import pytest
from catalogcases import make_catalog, sample
from PIL import Image

from clipaudit.catalog.samples.fate import sample_fate
from clipaudit.catalog.samples.page import picture_uri, read_picture, sample_page
from clipaudit.catalog.views import open_catalog
from clipaudit.errors import InputError
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.store import Store

HOSTILE = '"><script>alert(1)</script><img src=http://evil.example/x onerror=alert(1)>\x1b[31m'


class Parsed(HTMLParser):
    """The tags of a page and their attributes."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def image(kind="PNG", side=8):
    content = io.BytesIO()
    Image.new("RGB", (side, side), "red").save(content, kind)
    return content.getvalue()


def shard(path, content):
    with tarfile.open(path, "w") as tar:
        for name, data in (("000000.png", content), ("000000.txt", b"a")):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def fate(tmp_path):
    samples = ("samples", {"corpus": HOSTILE}, [sample(0, 0, caption=HOSTILE, key=HOSTILE)])
    with open_catalog(make_catalog(tmp_path, samples)) as connection:
        return sample_fate(connection, HOSTILE, "0:0")


def test_hostile_text_creates_no_element(fate):
    fate["text"] = {
        "spans": [{"text": HOSTILE, "score": 1.0, "polygon": [0, 0, 8, 0, 8, 8], "words": None}],
        "words": None,
        "plain": None,
    }
    fate["memorization"]["objects"] = [
        {"label": 1, "name": HOSTILE, "score": 1.0, "box": [0.0, 0.0, 4.0, 4.0]}
    ]

    page = sample_page(fate, picture_uri(image()))

    tags = Parsed(page).tags
    assert "\x1b" not in page
    assert not {"script", "a", "link", "iframe"} & {tag for tag, _ in tags}
    assert [attrs["src"][:22] for tag, attrs in tags if tag == "img"] == ["data:image/png;base64,"]
    assert not [name for _, attrs in tags for name in attrs if name.startswith("on")]


def test_the_policy_allows_no_loading(fate):
    policies = [
        attrs["content"]
        for tag, attrs in Parsed(sample_page(fate, None)).tags
        if attrs.get("http-equiv") == "Content-Security-Policy"
    ]

    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'; img-src data:; style-src 'sha256-")


def test_spans_and_objects_are_drawn_in_pixels_of_the_image(fate):
    span = {"text": "a", "score": 1.0, "polygon": [1, 2, 3, 2, 3, 4]}
    fate["text"] = {"spans": [span], "words": None, "plain": None}
    shown = {"label": 1, "name": "x", "score": 1.0, "box": [1, 2, 3, 4]}
    fate["memorization"]["objects"] = [shown]

    tags = dict(Parsed(sample_page(fate, picture_uri(image()))).tags)

    assert tags["svg"]["viewbox"] == "0 0 8 8"
    assert tags["polygon"]["points"] == "1.0 2.0 3.0 2.0 3.0 4.0"
    assert tags["rect"]["width"] == "3.0"


def test_a_placeholder_has_the_uid_if_there_is_no_image(fate):
    page = sample_page(fate, None)

    assert "<img" not in page
    assert f"image not shown<br>{fate['sample']['uid']}" in page


def test_an_image_is_read_from_its_shard(fate, tmp_path):
    digest = shard(tmp_path / "0.tar", image())
    known = {**fate["sample"], "image_sha256": hashlib.sha256(image()).hexdigest()}

    named = {**known, "shard_path": str(tmp_path / "0.tar"), "shard_sha256": digest}

    assert read_picture(named, None) == image()


def test_a_moved_shard_is_found_by_the_store(fate, tmp_path):
    digest = shard(tmp_path / "moved.tar", image())
    store = Store(tmp_path / "store")
    FileDigests(store.root / "files").digest(tmp_path / "moved.tar")
    known = {**fate["sample"], "image_sha256": hashlib.sha256(image()).hexdigest()}

    named = {**known, "shard_path": str(tmp_path / "0.tar"), "shard_sha256": digest}

    assert read_picture(named, store) == image()


def test_a_different_image_at_the_address_is_refused(fate, tmp_path):
    shard(tmp_path / "0.tar", image(side=4))
    known = {**fate["sample"], "image_sha256": hashlib.sha256(image()).hexdigest()}

    with pytest.raises(InputError, match=r"0.tar: the image of row 0 has SHA-256"):
        read_picture({**known, "shard_path": str(tmp_path / "0.tar")}, None)


def test_an_image_of_a_sample_that_the_index_dropped_is_refused(tmp_path):
    shard(tmp_path / "0.tar", b"damaged")
    dropped = {"corpus": "large", "shard": 0, "row": 0, "key": "000000"}

    with pytest.raises(InputError, match="the index dropped large 0:0, so its image is not known"):
        read_picture({**dropped, "shard_path": str(tmp_path / "0.tar")}, None)


def test_a_missing_shard_is_reported(fate, tmp_path):
    with pytest.raises(InputError, match=r"gone.tar: no such file\. Run the command where"):
        read_picture({**fate["sample"], "shard_path": str(tmp_path / "gone.tar")}, None)


@pytest.mark.parametrize(
    ("kind", "mime"), [("PNG", "png"), ("JPEG", "jpeg"), ("GIF", "png"), ("BMP", "png")]
)
def test_images_in_browser_formats_are_embedded_unchanged(kind, mime):
    assert picture_uri(image(kind)).startswith(f"data:image/{mime};base64,")


def test_a_transparent_image_in_another_format_is_shown_on_white():
    file, drawn = io.BytesIO(), Image.new("P", (2, 2))
    drawn.putpixel((1, 1), 1)
    drawn.save(file, "GIF", transparency=0)

    uri = picture_uri(file.getvalue())

    shown = Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2])))
    assert shown.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_other_samples_are_shown_beside_it_with_escaped_texts(fate):
    page = sample_page(fate, None, "hidden", [(HOSTILE, picture_uri(image())), ("gone", None)])

    tags = Parsed(page).tags
    assert [attrs["src"][:22] for tag, attrs in tags if tag == "img"] == ["data:image/png;base64,"]
    assert not {"script", "a"} & {tag for tag, _ in tags}
    assert '<figure class="small hidden">hidden<figcaption>gone</figcaption></figure>' in page
