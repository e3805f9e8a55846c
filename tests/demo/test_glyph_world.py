import numpy as np

from clipaudit.config.worlds import GlyphWorld
from clipaudit.demo.glyph_world import sample
from clipaudit.demo.scenes import Address

WORLD = GlyphWorld(
    side=48,
    corpora={
        "large": {"near_duplicates": [{"of": "val", "rate": 0.5}]},
        "val": {"samples_per_shard": 20, "captioned": False, "labelled": True},
    },
)


def mean_difference(one, other):
    return abs(one.astype(int) - other.astype(int)).mean()


def best_shifted(copy, original):
    shifts = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    moved = [np.roll(copy, shift, (0, 1))[1:-1, 1:-1] for shift in shifts]
    return min(mean_difference(one, original[1:-1, 1:-1]) for one in moved)


def test_a_near_duplicate_is_its_original_with_a_shift_and_slight_noise():
    originals = [sample(WORLD, Address("val", 0, row)).pixels for row in range(20)]

    for row in range(40):
        drawn = sample(WORLD, Address("large", 0, row))
        if "duplicate_of_corpus" in drawn.truth:
            differences = [best_shifted(drawn.pixels, original) for original in originals]
            assert np.argmin(differences) == drawn.truth["duplicate_of_row"]
            assert 0.5 < min(differences) < 2 < sorted(differences)[1]


def test_objects_in_the_metadata_are_coco_like_and_match_the_truth():
    world = GlyphWorld(corpora={"scenes": {"objects": (3, 4)}})

    drawn = sample(world, Address("scenes", 0, 3))

    objects = drawn.metadata["objects"]
    assert [thing["category_id"] for thing in objects] == drawn.truth["labels"]
    assert all(thing["category"].islower() and len(thing["bbox"]) == 4 for thing in objects)
    assert (drawn.metadata["width"], drawn.metadata["height"]) == drawn.pixels.shape[:2]


def test_another_random_seed_gives_another_world():
    address = Address("val", 0, 0)
    other = WORLD.model_copy(update={"seed": 1})

    one, two = sample(WORLD, address).pixels, sample(other, address).pixels

    assert mean_difference(one, two) > 5
