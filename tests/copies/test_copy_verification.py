import copiesdrawings as made
import numpy as np
import pytest

from clipaudit.copies.edits import EDITS
from clipaudit.copies.verification import verify

REENCODED = {
    "jpeg at quality 30": lambda rgb: made.jpeg(rgb, 30),
    "half size": lambda rgb: made.resized(rgb, 0.5),
    "twice the size": lambda rgb: made.resized(rgb, 2),
    "noise": made.noisy,
    "blur": lambda rgb: made.blurred(rgb, 1.2),
}
EDITED = {
    "bordered": lambda rgb: made.framed(rgb, 30),
    "recoloured": lambda rgb: rgb[..., [1, 2, 0]],
    "mirrored": lambda rgb: rgb[:, ::-1],
    "rotated": np.rot90,
    "overlaid": made.captioned,
}


def pictures():
    return [made.drawing(seed) for seed in range(3)] + [made.texture(0)]


def edited(rgb, name):
    return np.ascontiguousarray(EDITED[name](rgb))


def test_equal_pixels_are_identical():
    verdict = verify(made.drawing(0), made.drawing(0).copy())

    assert (verdict.kind, verdict.method, verdict.agreement) == ("identical pixels", "pixels", 1)


@pytest.mark.parametrize("how", REENCODED)
@pytest.mark.parametrize("rgb", pictures(), ids=range(4))
def test_reencoded_images_are_verified(rgb, how):
    verdict = verify(rgb, REENCODED[how](rgb))

    assert (verdict.kind, verdict.edits) == ("re-encoded or resized", ())


@pytest.mark.parametrize("name", EDITED)
@pytest.mark.parametrize("rgb", pictures(), ids=range(4))
def test_edits_are_named(rgb, name):
    verdict = verify(rgb, edited(rgb, name))

    assert (verdict.kind, verdict.edits) == ("edited", (name,))


@pytest.mark.parametrize("share", [0.9, 0.75, 0.5])
def test_a_part_of_an_image_is_cropped(share):
    verdict = verify(made.cropped(made.texture(1), share), made.texture(1))

    assert (verdict.kind, verdict.edits) == ("edited", ("cropped",))
    assert verdict.covered_first == pytest.approx(1, abs=0.03)
    assert verdict.covered_second == pytest.approx(share**2, abs=0.05)


def test_an_image_pasted_on_another_is_overlaid():
    verdict = verify(made.drawing(1), made.pasted(made.drawing(1), made.texture(2), (50, 80), 0.6))

    assert (verdict.kind, verdict.edits) == ("edited", ("overlaid",))
    assert verdict.covered_second == pytest.approx(0.36, abs=0.03)


def test_features_find_a_rotation_by_ten_degrees():
    verdict = verify(made.texture(3), made.turned(made.texture(3), 10))

    assert (verdict.kind, verdict.edits, verdict.method) == ("edited", ("rotated",), "features")
    assert verdict.inliers > 10


def test_several_edits_are_all_named():
    rgb = made.drawing(2)

    verdict = verify(rgb, np.ascontiguousarray(made.framed(rgb[:, ::-1], 20)))

    assert verdict.edits == ("bordered", "mirrored")


def test_brightness_and_grey_count_as_recolouring():
    rgb = made.drawing(0)
    grey = np.repeat(rgb.mean(axis=2, keepdims=True), 3, axis=2).astype(np.uint8)

    assert verify(rgb, (rgb * 0.6).astype(np.uint8)).edits == ("recoloured",)
    assert verify(rgb, grey).edits == ("recoloured",)


@pytest.mark.parametrize("suits", ["♥♦", "♣♠", "♥♠", "♦♣"])
def test_cards_of_different_suits_are_lookalikes(suits):
    assert verify(made.card(suits[0]), made.card(suits[1])).kind == "lookalike"


def test_cards_of_different_numbers_are_lookalikes():
    assert verify(made.card("♠", 5), made.card("♠", 3)).kind == "lookalike"


@pytest.mark.parametrize("signs", ["➜➤", "➜➔", "☎☏", "☺☹"])
def test_signs_of_different_shapes_are_lookalikes(signs):
    one, two = (made.symbol(sign) for sign in signs)

    assert verify(one, two).kind == "lookalike"


def test_hexagons_on_a_side_and_on_a_corner_are_lookalikes():
    assert verify(made.symbol("⬢"), made.symbol("⬣")).kind == "lookalike"


@pytest.mark.parametrize("sign", "☺♣")
def test_one_sign_drawn_twice_at_almost_the_same_place_is_a_lookalike(sign):
    moved = made.symbol(sign, at=(103, 100), angle=1)

    assert verify(made.symbol(sign), moved).kind == "lookalike"


def test_one_sign_drawn_twice_at_random_is_a_lookalike():
    one = made.symbol("☎", angle=4, at=(90, 104), size=100)
    two = made.symbol("☎", angle=-9, at=(108, 95), size=118, ground=236)

    assert verify(one, two).kind == "lookalike"


@pytest.mark.parametrize("seed", range(6))
def test_different_images_are_lookalikes(seed):
    one, two = made.drawing(seed), made.drawing(seed + 10)

    assert verify(one, two).kind == "lookalike"
    assert verify(made.texture(seed), made.texture(seed + 10)).kind == "lookalike"


@pytest.mark.parametrize("name", [*EDITED, "none"])
def test_the_order_of_the_two_images_does_not_matter(name):
    one = made.drawing(4)
    two = made.drawing(5) if name == "none" else edited(one, name)

    there, back = verify(one, two), verify(two, one)

    assert there == back._replace(
        covered_first=back.covered_second, covered_second=back.covered_first
    )


def test_verdicts_are_the_same_each_time():
    pair = made.texture(3), made.turned(made.texture(3), 10)

    assert len({verify(*pair) for _ in range(3)}) == 1


@pytest.mark.parametrize("size", [(2, 2), (2, 300), (64, 64), (300, 2)])
def test_uniform_images_are_compared_by_colour(size):
    plain, other = np.full((*size, 3), 180, np.uint8), np.full((40, 50, 3), 180, np.uint8)

    assert verify(plain, other).kind == "re-encoded or resized"
    assert verify(plain, other // 2).kind == "lookalike"
    assert verify(plain, made.texture(0)).kind == "lookalike"


@pytest.mark.parametrize("size", [(2, 2), (3, 7), (7, 200), (9, 9), (2, 700)])
def test_images_of_any_size_are_judged(size):
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 256, (2, *size, 3), np.uint8)

    assert verify(one, two).kind == "lookalike"
    assert verify(one, one ^ 1).kind == "re-encoded or resized"


def test_a_large_image_is_verified():
    rgb = made.drawing(0, size=(3600, 5000))

    verdict = verify(rgb, made.resized(rgb, 0.1))

    assert verdict.kind == "re-encoded or resized"


def test_numbers_of_a_verdict_are_shares():
    for name in EDITED:
        verdict = verify(made.drawing(6), edited(made.drawing(6), name))

        assert 0 <= min(verdict.agreement, verdict.covered_first, verdict.covered_second)
        assert max(verdict.agreement, verdict.covered_first, verdict.covered_second) <= 1
        assert set(verdict.edits) <= set(EDITS)
