import hashlib
import json
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shardzoo import encode, member, sample, tar_bytes

from clipaudit.corpora import images
from clipaudit.corpora import samples as module
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.drops import DROPS
from clipaudit.corpora.samples import SAMPLES, index_shards, sample_uid
from clipaudit.corpora.shards import raw_samples
from clipaudit.errors import InputError

TEXT = Captioning("text")
CLASSES = Captioning("class", "a photo of a {}", ("cat", "dog"))


def index(*paths, captioning=TEXT, needs_caption=True, needs_label=False):
    return index_shards(
        list(enumerate(paths)), captioning, needs_caption=needs_caption, needs_label=needs_label
    )


def labelled(key, label):
    return [*sample(key, caption=None), member(f"{key}.cls", label)]


def test_a_sample_has_all_its_columns(shard):
    uid = "0123456789ABCDEF0123456789abcdef"
    image = encode("PNG", (7, 3))
    path = shard([*sample("a/b", caption="größe\t", image=image, extension="png", uid=uid, x=None)])

    samples, drops = index(path)

    assert samples.schema == SAMPLES
    assert samples.to_pylist() == [
        {
            "shard": 0,
            "row": 0,
            "key": "a/b",
            "uid": uid.lower(),
            "caption": "größe\t",
            "label": None,
            "image_sha256": hashlib.sha256(image).hexdigest(),
            "image_format": "png",
            "width": 7,
            "height": 3,
            "image_bytes": len(image),
            "metadata": json.dumps({"uid": uid, "x": None}),
        }
    ]
    assert (drops.schema, drops.num_rows) == (DROPS, 0)


def test_the_samples_of_one_shard_are_held_as_objects_at_a_time(shard, monkeypatch):
    held, tables_of = [], module.table_of_rows

    def table(rows, schema):
        held.append(len(rows))
        return tables_of(rows, schema)

    monkeypatch.setattr(module, "table_of_rows", table)
    few, many = [*sample("a"), *sample("b")], [*sample("c"), *sample("d"), *sample("e")]
    samples, _ = index(shard(few), shard(many, "1.tar"))

    assert held == [2, 3]
    assert samples["key"].to_pylist() == ["a", "b", "c", "d", "e"]


ZOO = [
    ("good", sample("good"), None),
    ("truncated", sample("truncated", image=encode(size=(90, 90))[:-60]), "corrupt image"),
    ("no picture", sample("no picture", image=b"<html>"), "corrupt image"),
    ("one pixel", sample("one pixel", image=encode("GIF", (1, 1))), "absurd image size"),
    ("long", sample("long", image=encode("PNG", (1, 900))), "absurd image size"),
    ("huge", sample("huge", image=encode("PNG", (400, 300))), "absurd image size"),
    ("imageless", [member("imageless.txt", b"a cat")], "no image"),
    ("wrong kind", [member("wrong kind.svg", b"<svg/>")], "image format not read"),
    ("mute", sample("mute", caption=None), "no caption"),
    ("empty", sample("empty", caption=""), "no caption"),
    ("latin", [*sample("latin", caption=None), member("latin.txt", b"\xe9")], "bad caption"),
    ("json", [*sample("json"), member("json.json", b"{'a'}")], "bad json"),
    ("novel", sample("novel", caption="x" * 2_000_000), "text too long"),
    ("good", sample("good"), "duplicate key"),
    ("twice", [*sample("twice"), member("twice.jpg", b"")], "duplicate member"),
    ("../up", sample("../up"), "hostile member name"),
    ("link", [member("link.jpg", kind=b"2", linkname="/x")], "member is not a plain file"),
    ("animated", sample("animated", image=encode("GIF"), extension="webp"), None),
    ("last", sample("last"), None),
]


def test_every_row_is_a_sample_or_a_drop_with_its_reason(shard, monkeypatch):
    monkeypatch.setattr(images, "MAX_PIXELS", 100_000)
    path = shard([found for _, members, _ in ZOO for found in members])

    samples, drops = index(path)

    assert samples["key"].to_pylist() == [key for key, _, reason in ZOO if reason is None]
    assert list(zip(*drops.select(["key", "reason"]).to_pydict().values(), strict=True)) == [
        (key, reason) for key, _, reason in ZOO if reason is not None
    ]
    rows = samples["row"].to_pylist() + drops["row"].to_pylist()
    assert sorted(rows) == list(range(len(ZOO)))


def test_an_image_stays_when_a_text_that_nothing_needs_cannot_be_read(shard):
    latin = [*sample("latin", caption=None), member("latin.txt", b"\xe9")]
    json = [*sample("json", caption="a cat"), member("json.json", b"{'a'}")]

    samples, drops = index(shard([*latin, *json]), needs_caption=False)

    assert samples.select(["key", "caption", "metadata"]).to_pylist() == [
        {"key": "latin", "caption": None, "metadata": None},
        {"key": "json", "caption": "a cat", "metadata": None},
    ]
    assert len(drops) == 0


def test_a_byte_order_mark_before_json_is_no_part_of_it(shard):
    marked = member("a.json", '\ufeff{"caption": "a cat"}'.encode())

    samples, drops = index(shard([*sample("a", caption=None), marked]))

    assert samples["caption"].to_pylist() == ["a cat"]
    assert samples["metadata"].to_pylist() == ['{"caption": "a cat"}']
    assert len(drops) == 0


def test_a_dotted_name_is_explained(shard):
    _, drops = index(shard([member("a.v1.jpg", encode())]))

    (detail,) = drops["detail"].to_pylist()
    assert detail.endswith("found v1.jpg (a key ends at the first dot of its file's name)")


def test_a_truncated_tar_keeps_the_samples_before_the_cut(shard):
    whole = tar_bytes([*sample("a"), *sample("b"), *sample("c")])
    path = shard(whole[: whole.index(b"b.txt") + 400])

    samples, drops = index(path)

    assert samples["key"].to_pylist() == ["a"]
    assert drops.select(["row", "reason"]).to_pylist() == [{"row": 1, "reason": "truncated tar"}]


def test_shards_keep_their_numbers_and_order(shard):
    paths = [shard(sample("a"), name="0.tar"), shard(sample("b", caption=None), name="1.tar")]

    samples, drops = index_shards(
        [(7, paths[0]), (9, paths[1])], TEXT, needs_caption=True, needs_label=False
    )

    assert (samples["shard"].to_pylist(), drops["shard"].to_pylist()) == ([7], [9])


def test_labelled_samples_get_label_and_caption(shard):
    good = [*labelled("a", b"0"), *labelled("b", b"1\n")]
    bad = [*labelled("c", b"two"), *labelled("d", b"2"), *sample("e", caption="own text")]
    path = shard([*good, *bad])

    samples, drops = index(path, captioning=CLASSES, needs_label=True)

    assert samples["label"].to_pylist() == [0, 1]
    assert samples["caption"].to_pylist() == ["a photo of a cat", "a photo of a dog"]
    assert drops["reason"].to_pylist() == ["bad label", "unknown class", "no label"]


def test_captions_and_labels_may_be_missing_if_not_needed(shard):
    path = shard([*sample("a", caption=None), *sample("b", label="some word")])

    samples, drops = index(path, needs_caption=False)

    assert samples["caption"].to_pylist() == [None, "a cat"]
    assert samples["label"].to_pylist() == [None, None]
    assert drops.num_rows == 0


def test_the_first_of_several_images_counts(shard):
    members = [member(f"a.{e}", encode("PNG", (w, 5))) for w, e in ((9, "png"), (8, "jpg"))]
    samples, _ = index(shard([*members, member("a.txt", b"x")]))

    assert samples["width"].to_pylist() == [8]


def test_uids_are_derived_from_image_and_caption(shard):
    path = shard([*sample("a", caption="one"), *sample("b", caption="two", uid="not hex")])

    samples, _ = index(path)

    assert samples["uid"].to_pylist() == [sample_uid(encode(), word) for word in ("one", "two")]


def test_uids_separate_image_and_caption():
    assert sample_uid(b"ab", "c") != sample_uid(b"a", "bc")


def test_an_unreadable_shard_is_named(shard):
    with pytest.raises(InputError, match=r"00000.tar: not a readable tar"):
        index(shard(b"no tar"))


def test_no_shards_give_empty_tables():
    samples, drops = index()

    assert (samples.schema, samples.num_rows) == (SAMPLES, 0)
    assert (drops.schema, drops.num_rows) == (DROPS, 0)


def test_progress_reports_samples_and_drops(shard, caplog):
    with caplog.at_level(logging.INFO):
        index(shard([*sample("a"), *sample("b", caption=None)]))

    assert "00000.tar: 1 samples, 1 dropped" in caplog.text


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(range(len(ZOO))), max_size=8), st.integers(0, 4000))
def test_every_input_row_is_a_sample_or_a_drop(tmp_path_factory, kinds, cut):
    path = tmp_path_factory.mktemp("shard") / "0.tar"
    zoo = [members for key, members, _ in ZOO if key not in ("novel", "huge")]
    whole = tar_bytes([found for kind in kinds for found in zoo[kind % len(zoo)]])
    path.write_bytes(whole[: max(len(whole.rstrip(b"\0")) - cut, 600)] if cut else whole)

    try:
        rows = [found.row for found in raw_samples(path)]
        samples, drops = index(path)
    except InputError:
        return

    assert sorted(samples["row"].to_pylist() + drops["row"].to_pylist()) == rows
