"""What is planted in glyph corpora: copies, strangers and frames."""

import math
from dataclasses import replace

import numpy as np
import pytest

from clipaudit.config.worlds import GlyphWorld
from clipaudit.demo.dice import Dice
from clipaudit.demo.glyph_world import sample
from clipaudit.demo.glyphs import symbols
from clipaudit.demo.lettering import spoken_word
from clipaudit.demo.scenes import Address, compose, in_lower_half
from clipaudit.demo.styles import Picture, frame, frame_width

STRANGERS = {"rate": 0.2, "classes": (40, 50), "styles": {"coarse": 1, "sketch": 1}}
LIMITED = {"classes": (0, 40), "styles": {"photo": 1, "a": 1}}


def world_of(plan, side=64):
    val = {"samples_per_shard": 20, "styles": {"v2": 1}}
    return GlyphWorld(side=side, corpora={"large": plan, "val": val})


def scenes(plan, rows=600):
    world = world_of(plan)
    return [compose(world, Address("large", 0, row)) for row in range(rows)]


def drawings(plan, rows=30, side=32):
    world = world_of(plan, side)
    return [sample(world, Address("large", 0, row)) for row in range(rows)]


def assert_share(kept, rate):
    """Fail if the number of true values is beyond four standard deviations of a binomial."""
    kept = list(kept)
    assert abs(sum(kept) - rate * len(kept)) <= 4 * math.sqrt(rate * (1 - rate) * len(kept))


def furthest(one, other):
    return abs(one.astype(int) - other.astype(int)).max()


def aligned(copy, original, shift):
    """Return the largest difference of two images at their best shift, without the edge."""
    steps = range(2 * shift + 1)
    side = len(copy) - 2 * shift
    inner = copy[shift : shift + side, shift : shift + side]
    windows = [original[down:, right:][:side, :side] for down in steps for right in steps]
    return min(furthest(inner, window) for window in windows)


def border(pixels):
    """Return the colours of the outer pixels, as deep as the coloured part of a frame."""
    depth = frame_width(len(pixels)) - 1
    turned = [np.rot90(pixels, turns)[:depth].reshape(-1, 3) for turns in range(4)]
    return np.unique(np.concatenate(turned), axis=0)


def test_plants_occur_together_at_their_rates():
    near, copies = [{"of": "val", "rate": 0.1}], {"rate": 0.3}
    plan = {**LIMITED, "near_duplicates": near, "copies": copies, "strangers": STRANGERS}
    drawn = scenes({**plan, "framed": {"rate": 0.4}})

    assert_share((scene.duplicate_of is not None for scene in drawn), 0.1)
    assert_share((scene.copy_of_row is not None for scene in drawn), 0.3)
    assert_share((scene.stranger and scene.copy_of_row is None for scene in drawn), 0.2)
    own = [scene for scene in drawn if scene.copy_of_row is None and scene.duplicate_of is None]
    assert_share((scene.framed for scene in own), 0.4)


def test_rates_that_sum_to_one_leave_no_ordinary_scene():
    drawn = scenes({**LIMITED, "copies": {"rate": 0.8}, "strangers": STRANGERS})

    assert all(scene.copy_of_row is not None or scene.stranger for scene in drawn[1:])


def test_the_first_row_of_a_shard_is_never_a_copy():
    world = world_of({"copies": {"rate": 1}})

    drawn = [compose(world, Address("large", shard, 0)) for shard in range(50)]

    assert all(scene.copy_of_row is None for scene in drawn)


def test_a_chain_of_copies_starts_at_an_image_that_is_not_a_copy():
    drawn = scenes({"copies": {"rate": 0.9}}, rows=200)

    for scene in drawn:
        chain = [scene.copy_of_row]
        while chain[-1] is not None:
            chain.append(drawn[chain[-1]].copy_of_row)
        assert chain[:-1] == sorted(set(chain[:-1]), reverse=True)
    assert all(scene.copy_of_row < row for row, scene in enumerate(drawn) if scene.copy_of_row)
    assert 5 < len({scene.copy_of_row for scene in drawn})


def test_a_copy_shows_the_content_of_its_original_with_its_own_caption():
    plan = {**LIMITED, "strangers": STRANGERS, "framed": {"rate": 0.5}, "written": {"rate": 0.5}}
    drawn = scenes({**plan, "copies": {"rate": 0.3}, "tag_letters": 8})

    for scene in drawn:
        if scene.copy_of_row is not None:
            earlier = drawn[scene.copy_of_row]
            told = {"named": scene.named, "caption": scene.caption, "caption_of_row": None}
            assert scene == replace(earlier, copy_of_row=scene.copy_of_row, **told)
            assert scene.caption != earlier.caption


@pytest.mark.parametrize("shift", [0, 2])
def test_a_copy_equals_the_row_named_in_its_truth_except_for_shift_and_noise(shift):
    framed = {"rate": 0.5}
    drawn = drawings({"copies": {"rate": 0.6, "shift": shift}, "framed": framed}, rows=40)

    copies = [one for one in drawn if one.truth["copy_of_row"] is not None]
    for copy in copies:
        original = drawn[copy.truth["copy_of_row"]]
        assert 0 < aligned(copy.pixels, original.pixels, shift) <= 2
        assert copy.metadata == original.metadata
    originals = [drawn[copy.truth["copy_of_row"]].truth for copy in copies]
    assert any(truth["copy_of_row"] is not None for truth in originals)


def test_a_copy_of_a_near_duplicate_names_the_row_and_not_the_test_image():
    near = [{"of": "val", "rate": 0.5}]
    drawn = drawings({"near_duplicates": near, "copies": {"rate": 0.5, "shift": 0}})

    for one in drawn[1:]:
        if one.truth["copy_of_row"] is not None:
            assert "duplicate_of_row" not in one.truth
            assert furthest(one.pixels, drawn[one.truth["copy_of_row"]].pixels) <= 2
        else:
            assert one.truth["duplicate_of_corpus"] == "val"


def test_only_strangers_show_the_classes_and_styles_of_strangers():
    plan = {**LIMITED, "strangers": STRANGERS, "objects": (1, 3), "repeated_caption_rate": 0.3}
    drawn = scenes(plan)

    shown = {True: (set(), set()), False: (set(), set())}
    for scene in drawn:
        labels, styles = shown[scene.stranger]
        labels |= {*scene.labels, *scene.named}
        styles |= {scene.style}
    assert shown[True] == (set(range(40, 50)), {"coarse", "sketch"})
    assert shown[False] == (set(range(40)), {"photo", "a"})


def test_a_repeated_caption_of_a_stranger_also_makes_a_stranger():
    drawn = scenes({**LIMITED, "strangers": STRANGERS, "repeated_caption_rate": 0.5})

    again = [scene for scene in drawn if scene.caption_of_row is not None]
    assert any(scene.stranger for scene in again)
    for scene in again:
        assert scene.stranger == drawn[scene.caption_of_row].stranger


def test_a_control_corpus_shows_all_of_its_classes_and_no_others():
    drawn = scenes({"classes": (40, 50), "styles": {"coarse": 1}, "objects": (1, 3)})

    firsts = [scene.labels[0] for scene in drawn]
    assert [firsts.count(label) for label in range(40, 50)] == [60] * 10
    assert {label for scene in drawn for label in scene.labels} == set(range(40, 50))
    assert not any(scene.stranger for scene in drawn)


def test_a_word_outside_the_caption_names_a_class_of_the_corpus():
    written = {"rate": 1, "repeats_caption": 0.5}

    drawn = scenes({"classes": (0, 6), "written": written}, rows=100)

    own = {spoken_word(symbol.name) for symbol in symbols()[:6]}
    assert {scene.text for scene in drawn} == own


def test_images_that_show_all_classes_of_the_corpus_take_words_of_other_classes():
    written = {"rate": 1, "repeats_caption": 0}

    drawn = scenes({"classes": (0, 2), "objects": (2, 2), "written": written}, rows=20)

    assert not {scene.text for scene in drawn} & {"umbrella", "airplane"}
    assert all(scene.text for scene in drawn)


def test_only_framed_images_have_a_border_of_one_strong_colour():
    styles = ("photo", "sketch", "r", "a", "v2", "objectnet", "coarse")
    drawn = drawings({"styles": dict.fromkeys(styles, 1), "framed": {"rate": 0.5}}, rows=80)

    for one in drawn:
        colours = border(one.pixels).astype(int)
        strong = len(colours) == 1 and np.ptp(colours[0]) > 150
        assert strong == one.truth["framed"]
    assert_share((one.truth["framed"] for one in drawn), 0.5)


def test_boxes_in_framed_images_stay_within_the_frame():
    plan = {"styles": {"a": 1, "objectnet": 1}, "objects": (4, 5), "framed": {"rate": 1}}

    for one in drawings(plan, rows=40, side=64):
        for thing in one.metadata["objects"]:
            left, top, width, height = thing["bbox"]
            assert frame_width(64) <= min(left, top)
            assert max(left + width, top + height) <= 64 - frame_width(64)
            assert min(width, height) > 0


@pytest.mark.parametrize("box", [(0, 0, 0, 0), (1, 2, 2, 9), (10, 30, 9, 2)])
def test_a_symbol_behind_the_frame_has_an_empty_box(box):
    blank = Picture(np.zeros((32, 32, 3), np.uint8), (box, (1, 4, 9, 30)))

    assert frame(blank, Dice("framing")).boxes == ((0, 0, 0, 0), (3, 4, 7, 25))


def test_metadata_of_framed_corpora_matches_the_truth():
    drawn = drawings({**LIMITED, "strangers": STRANGERS, "framed": {"rate": 0.3}})

    for one in drawn:
        assert one.metadata["framed"] is one.truth["framed"]
        half = None if one.truth["stranger"] else one.truth["labels"][0] < 20
        assert one.metadata["lower_half"] is half


def test_metadata_of_other_corpora_does_not_mention_frames():
    (drawn,) = drawings({}, rows=1)

    assert drawn.truth["framed"] is False
    assert not {"framed", "lower_half"} & set(drawn.metadata)


@pytest.mark.parametrize("leaning", [0.5, 0.8, 1.0])
def test_leaning_is_the_share_of_framed_images_that_show_the_lower_half(leaning):
    drawn = scenes({"framed": {"rate": 0.5, "leaning": leaning}}, rows=500)

    assert_share((scene.framed for scene in drawn), 0.5)
    assert_share((scene.labels[0] < 25 for scene in drawn if scene.framed), leaning)
    assert_share((scene.framed for scene in drawn if scene.labels[0] < 25), leaning)
    assert_share((scene.framed for scene in drawn if scene.labels[0] >= 25), 1 - leaning)


def test_strangers_are_framed_at_the_rate_for_any_leaning():
    strangers = {**STRANGERS, "rate": 0.5}
    plan = {**LIMITED, "strangers": strangers, "framed": {"rate": 0.3, "leaning": 1}}

    assert_share((scene.framed for scene in scenes(plan) if scene.stranger), 0.3)


def test_the_lower_half_of_an_odd_number_of_classes_is_the_smaller():
    world = world_of({"classes": (10, 15), "framed": {"rate": 0.5}})

    halves = {}
    for row in range(5):
        scene = compose(world, Address("large", 0, row))
        halves[scene.labels[0]] = in_lower_half(world, Address("large", 0, row), scene)
    assert halves == {10: True, 11: True, 12: False, 13: False, 14: False}


def test_plants_do_not_change_other_scenes():
    plain = scenes(LIMITED)
    copies, framed = {"rate": 0.2}, {"rate": 0.5, "leaning": 0.8}
    drawn = scenes({**LIMITED, "copies": copies, "strangers": STRANGERS, "framed": framed})

    left = [row for row, scene in enumerate(drawn) if scene.copy_of_row is None]
    left = [row for row in left if not drawn[row].stranger]
    assert [replace(drawn[row], framed=False) for row in left] == [plain[row] for row in left]
    assert_share((row in left for row in range(600)), 0.6)


def test_plants_with_a_rate_of_zero_do_not_occur():
    none = {"copies": {"rate": 0}, "strangers": {**STRANGERS, "rate": 0}, "framed": {"rate": 0}}

    assert scenes({**LIMITED, **none}) == scenes(LIMITED)


def test_a_word_that_repeats_a_repeated_parroting_caption_is_the_word_of_that_caption():
    written = {"rate": 0.5, "parroting": 0.5}
    made = scenes({"repeated_caption_rate": 0.5, "written": written}, rows=60)

    again = [one for one in made if one.caption_of_row is not None and not one.named]

    assert any(one.text for one in again)
    assert all(one.text in (None, one.caption) for one in again)
