from collections import Counter

import pytest

from clipaudit.config.worlds import GlyphWorld
from clipaudit.demo.glyphs import symbols
from clipaudit.demo.lettering import spoken_word, words_of_nothing
from clipaudit.demo.scenes import Address, all_captions, compose


def scenes(plan, rows=400, **world):
    world = GlyphWorld(corpora={"large": plan, "val": {"samples_per_shard": 50}}, **world)
    return [compose(world, Address("large", 0, row)) for row in range(rows)]


def share(kept):
    kept = list(kept)
    return sum(kept) / len(kept)


def test_classes_are_equally_frequent_across_shards():
    world = GlyphWorld(classes=7, corpora={"val": {"samples_per_shard": 10}})

    drawn = [compose(world, Address("val", shard, row)) for shard in range(7) for row in range(10)]

    assert set(Counter(scene.labels[0] for scene in drawn).values()) == {10}


def test_styles_occur_with_their_weights():
    drawn = scenes({"styles": {"photo": 8, "sketch": 2}}, rows=1500)

    assert share(scene.style == "sketch" for scene in drawn) == pytest.approx(0.2, abs=0.04)


def test_only_sketch_captions_mention_sketches_and_some_do_not():
    drawn = scenes({"styles": {"photo": 1, "sketch": 1}})

    said = {style: [] for style in ("photo", "sketch")}
    for scene in drawn:
        said[scene.style].append("sketch" in scene.caption or "drawing" in scene.caption)
    assert not any(said["photo"])
    assert share(said["sketch"]) == pytest.approx(0.5, abs=0.12)


def test_scenes_have_the_requested_number_of_classes_and_name_the_first():
    drawn = scenes({"objects": (3, 4), "named_objects": 1, "tag_letters": 3})

    assert {len(scene.labels) for scene in drawn} == {3, 4}
    for scene in drawn:
        assert len(set(scene.labels)) == len(scene.labels)
        assert symbols()[scene.labels[0]].name in scene.caption
        assert len(scene.caption.split()[-1]) == 3
    assert len({scene.caption for scene in drawn}) > 390


def test_a_class_subset_applies_to_all_symbols_of_an_image():
    drawn = scenes({"first_classes": 5, "objects": (2, 5)}, rows=100)

    assert {label for scene in drawn for label in scene.labels} == set(range(5))


def test_repeated_captions_repeat_an_earlier_row_with_its_classes():
    drawn = scenes({"repeated_caption_rate": 0.3, "tag_letters": 3})

    repeated = [scene for scene in drawn if scene.caption_of_row is not None]
    assert len(repeated) / len(drawn) == pytest.approx(0.3, abs=0.07)
    for row, scene in enumerate(drawn):
        if scene.caption_of_row is not None:
            earlier = drawn[scene.caption_of_row]
            assert scene.caption_of_row < row
            assert (scene.caption, scene.labels) == (earlier.caption, earlier.labels)


def test_near_duplicates_occur_at_their_rate_with_their_original_scene():
    world = GlyphWorld(
        corpora={
            "large": {"near_duplicates": [{"of": "val", "rate": 0.1, "shards": 2}]},
            "val": {"styles": {"v2": 1}, "samples_per_shard": 50},
        }
    )

    drawn = [compose(world, Address("large", 0, row)) for row in range(1500)]

    copies = [scene for scene in drawn if scene.duplicate_of]
    assert len(copies) / 1500 == pytest.approx(0.1, abs=0.025)
    assert {scene.duplicate_of.shard for scene in copies} == {0, 1}
    for scene in copies:
        original = compose(world, scene.duplicate_of)
        assert (scene.style, scene.labels) == ("v2", original.labels)
        assert symbols()[scene.labels[0]].name in scene.caption


def test_words_occur_at_their_rate_and_the_truth_says_if_the_caption_has_them():
    drawn = scenes({"written": {"rate": 0.5, "repeats_caption": 0.6}}, rows=1500)

    written = [scene for scene in drawn if scene.text]
    assert len(written) / 1500 == pytest.approx(0.5, abs=0.05)
    assert share(s.text_repeats_caption for s in written) == pytest.approx(0.6, abs=0.06)
    for scene in written:
        own = spoken_word(symbols()[scene.labels[0]].name)
        assert scene.text_repeats_caption == (scene.text in scene.caption.split())
        assert (scene.text == own) == scene.text_repeats_caption


def test_parrot_captions_are_only_the_word_and_name_no_class():
    drawn = scenes({"written": {"rate": 1, "parroting": 1, "parrot_words": 5}})

    classes = " ".join(symbol.name for symbol in symbols()[:50]).split()
    assert all(scene.caption == scene.text and not scene.named for scene in drawn)
    assert {scene.text for scene in drawn} == set(words_of_nothing(50, 5))
    assert not {scene.text for scene in drawn} & set(classes)


def test_a_planted_word_changes_nothing_else():
    plain = scenes({})
    lettered = scenes({"written": {"rate": 0.5}})

    assert [scene.labels for scene in plain] == [scene.labels for scene in lettered]
    assert [scene.caption for scene in plain] == [scene.caption for scene in lettered]


def test_uncaptioned_corpora_have_no_caption_and_words_of_other_classes():
    plan = {"captioned": False, "labelled": True, "written": {"rate": 1, "repeats_caption": 0}}

    for scene in scenes(plan):
        assert scene.caption is None
        assert scene.text != spoken_word(symbols()[scene.labels[0]].name)
        assert not scene.text_repeats_caption


def test_further_captions_name_the_other_symbols_in_turn():
    plan = {"objects": (3, 3), "named_objects": 1, "further_captions": 4}
    world = GlyphWorld(corpora={"album": plan})
    address = Address("album", 0, 7)
    scene = compose(world, address)

    captions = all_captions(world, address, scene)

    names = [symbols()[scene.labels[turn % 3]].name for turn in range(5)]
    assert captions[0] == scene.caption
    assert [name in caption for name, caption in zip(names, captions, strict=True)] == [True] * 5
