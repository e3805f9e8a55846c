import hashlib
import json
from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from clipaudit.config.worlds import GlyphWorld
from clipaudit.demo.candidates import candidates_of, shuffles_of
from clipaudit.demo.dice import Dice
from clipaudit.demo.glyph_world import caption_phrases, class_names, sample, samples
from clipaudit.demo.glyphs import symbols
from clipaudit.demo.scenes import Address, Scene
from clipaudit.demo.vocabulary import merges_of, words_of
from clipaudit.demo.worlds import write_shard

BETWEEN = " and a "
DIGESTS = {  # a changed literal means that every sample of such a set has changed
    "relation": "503280abcc2cba4c707e8fef5d95470c6ead93d70e158a6e7b76b3cca499419e",
    "attribution": "aaca5c28167004a4113b1db484bd16a803cd3a8032899075dc8b53b50409d2eb",
    "order": "f7c01ba46692f57da314ff683674e5601084efaa666fbcb6cd090336a13ab6bf",
}


def world(form, **plan):
    plan = {"objects": (2, 4), "samples_per_shard": 60, "candidates": form, **plan}
    return GlyphWorld(side=32, corpora={"aro": plan})


def drawn(form, **plan):
    return [one.metadata for one in samples(world(form, **plan), "aro", 0)]


def boxed(*boxes, form, seed=0):
    """The candidates of a scene of umbrella, airplane and so on, with the boxes given."""
    labels = tuple(range(len(boxes)))
    return candidates_of(form, Scene("photo", labels, labels, None), boxes, Dice(seed))


def true_one(found):
    return found["captions"][found["right"]]


def centre(thing):
    left, top, width, height = thing["bbox"]
    return left + width / 2, top + height / 2


@pytest.mark.parametrize("form", ["relation", "attribution", "order"])
def test_all_candidates_of_an_image_are_distinct(form):
    for found in drawn(form):
        assert len(found["captions"]) == (5 if form == "order" else 2)
        assert len(set(found["captions"])) == len(found["captions"])


@pytest.mark.parametrize("form", ["relation", "attribution", "order"])
def test_every_position_is_right_about_equally_often(form):
    places = Counter(found["right"] for found in drawn(form, samples_per_shard=200))

    expected = 200 / (5 if form == "order" else 2)
    assert all(abs(count - expected) < 30 for count in places.values())
    assert len(places) == (5 if form == "order" else 2)


def test_the_true_relation_agrees_with_the_box_centres():
    for found in drawn("relation"):
        where = {thing["category"]: centre(thing) for thing in found["objects"]}
        first, second = true_one(found)[2:].split(f" {found['kind']} a ")
        right = where[second][0] - where[first][0]
        down = where[second][1] - where[first][1]
        steps = {"left of": right, "right of": -right, "above": down, "below": -down}
        assert steps[found["kind"]] == max(steps.values())
        assert found["captions"][1 - found["right"]] == f"a {second} {found['kind']} a {first}"


def test_questions_cover_all_four_relations():
    kinds = Counter(found["kind"] for found in drawn("relation", samples_per_shard=200))

    assert set(kinds) == {"left of", "right of", "above", "below"}
    assert min(kinds.values()) > 20


def test_the_true_sizes_agree_with_the_box_areas():
    firsts = Counter()
    for found in drawn("attribution"):
        area = {one["category"]: one["bbox"][2] * one["bbox"][3] for one in found["objects"]}
        told = {
            (f"a large {large} and a small {small}", f"a small {small} and a large {large}"): (
                area[large] >= area[small]
            )
            for large, small in permutations(area, 2)
        }
        assert [at for texts, at in told.items() if true_one(found) in texts] == [True]
        assert found["kind"] == "size"
        firsts[true_one(found).split()[1]] += 1
    assert min(firsts["large"], firsts["small"]) > 15


def test_wrong_candidates_swap_the_sizes_and_keep_the_symbols():
    found = boxed((0, 0, 9, 9), (20, 20, 5, 5), form="attribution")

    assert sorted(found["captions"]) in (
        ["a large umbrella and a small airplane", "a small umbrella and a large airplane"],
        ["a large airplane and a small umbrella", "a small airplane and a large umbrella"],
    )
    assert "large umbrella" in true_one(found)


def test_questions_use_the_pair_that_differs_most():
    boxes = (10, 10, 4, 4), (14, 10, 5, 4), (10, 40, 6, 4)

    for seed in range(5):
        related = true_one(boxed(*boxes, form="relation", seed=seed))
        sized = true_one(boxed(*boxes, form="attribution", seed=seed))
        assert related in ("a umbrella above a anchor", "a anchor below a umbrella")
        assert "small umbrella" in sized
        assert "large anchor" in sized


def test_equal_boxes_are_ordered_by_drawing():
    for seed in range(5):
        related = true_one(boxed((3, 3, 4, 4), (3, 3, 4, 4), form="relation", seed=seed))
        sized = true_one(boxed((3, 3, 4, 4), (3, 3, 4, 4), form="attribution", seed=seed))
        assert related in ("a umbrella left of a airplane", "a airplane right of a umbrella")
        assert "large umbrella" in sized


def test_order_candidates_shuffle_the_words_of_the_sample_caption():
    for row in range(40):
        found = sample(world("order"), Address("aro", 0, row))

        assert true_one(found.metadata) == found.caption
        assert found.metadata["kind"] is None
        for caption in found.metadata["captions"]:
            assert sorted(caption.split()) == sorted(found.caption.split())


def test_each_shuffling_moves_the_stated_words():
    caption, names = "this is a chess knight and a cat face", ["chess knight", "cat face"]
    words = caption.split()

    nouns, others, within, trigrams = map(str.split, shuffles_of(caption, names, Dice(1)))

    assert [nouns[place] for place in (0, 1, 2, 5, 6)] == ["this", "is", "a", "and", "a"]
    assert [others[place] for place in (3, 4, 7, 8)] == ["chess", "knight", "cat", "face"]
    for start in (0, 3, 6):
        assert sorted(within[start : start + 3]) == sorted(words[start : start + 3])
        assert trigrams[start : start + 3] in (words[0:3], words[3:6], words[6:9])


@given(
    st.lists(st.sampled_from(["star", "gear", "chess knight"]), min_size=1, max_size=3),
    st.sampled_from(["{}", "the {}", "a photo of a {}", "{} abc"]),
    st.integers(0, 99),
)
def test_shuffles_are_distinct_and_as_many_as_possible(names, template, seed):
    caption = template.format(BETWEEN.join(names))

    found = [caption, *shuffles_of(caption, names, Dice(seed))]

    assert len(set(found)) == len(found)
    assert len(found) == {1: 1, 2: 2}.get(len(caption.split()), 5)


@pytest.mark.parametrize("form", ["relation", "attribution", "order"])
def test_one_shard_of_candidates_is_pinned(tmp_path, form):
    write_shard(world(form, samples_per_shard=4), "aro", 1, tmp_path / "0.tar", tmp_path / "0.pq")

    assert hashlib.sha256((tmp_path / "0.tar").read_bytes()).hexdigest() == DIGESTS[form]


def test_candidates_change_nothing_else_of_a_sample():
    plain, asked = (sample(world(form), Address("aro", 0, 3)) for form in (None, "relation"))

    assert (plain.pixels == asked.pixels).all()
    assert (plain.caption, plain.truth) == (asked.caption, asked.truth)
    more = {key: asked.metadata[key] for key in ("captions", "right", "kind")}
    assert json.dumps(asked.metadata) == json.dumps(plain.metadata | more)


def test_only_worlds_with_candidates_have_candidate_words():
    bare = set(words_of(caption_phrases(world(None))))

    added = {form: set(words_of(caption_phrases(world(form)))) - bare for form in DIGESTS}

    assert added["relation"] == {"left", "right", "above", "below"}
    assert added["attribution"] == {"large", "small"}
    assert added["order"] == set()


@pytest.mark.parametrize("form", ["relation", "attribution"])
def test_candidate_words_are_tokens_and_captions_fit_into_sixteen(form):
    asked = world(form)
    listed = words_of([*class_names(asked), *caption_phrases(asked)])
    made = ["".join(pair) for pair in merges_of(listed)]
    longest = max(len(symbol.name.split()) for symbol in symbols()[:50])

    assert len(set(made)) == len(made)
    # two articles, start and end tokens, and two words for a relation or three for sizes
    assert 2 * longest + 2 + 2 + (2 if form == "relation" else 3) <= 16


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"form": "colour"}, "Input should be 'relation', 'attribution' or 'order'"),
        ({"objects": (1, 3)}, "candidates: order needs two symbols, but an image may show 1"),
        ({"named_objects": 1}, "order shuffles captions of two names or more"),
        ({"captioned": False, "labelled": True}, "set captioned to true"),
        ({"written": {"rate": 0.1, "parroting": 0.5}}, "and written.parroting to 0"),
        ({"framed": {"rate": 0.5}}, "candidates and framed are both given"),
    ],
)
def test_impossible_candidates_are_refused(plan, message):
    with pytest.raises(ValidationError, match=message):
        world(**{"form": "order"} | plan)


@pytest.mark.parametrize("repeated", [{}, {"objects": (2, 3), "framed": {"rate": 0.5}}])
def test_candidates_for_repeated_images_without_two_visible_symbols_are_refused(repeated):
    pairs = {
        "objects": (2, 2),
        "candidates": "relation",
        "near_duplicates": [{"of": "val", "rate": 0.5}],
    }

    with pytest.raises(ValidationError, match="relation needs two visible symbols, but images of"):
        GlyphWorld(corpora={"aro": pairs, "val": repeated})
    GlyphWorld(corpora={"aro": pairs, "val": {"objects": (2, 3)}})
