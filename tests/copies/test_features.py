import copiesdrawings as made
import cv2
import numpy as np
import pytest

from clipaudit.copies.features import feature_candidates, features_of
from clipaudit.copies.overlaps import corners
from clipaudit.copies.pyramids import pyramid_of


def found(one, two):
    pair = pyramid_of(one), pyramid_of(two)
    return list(feature_candidates(*map(features_of, pair), pair[1].size))


def shown(matched, rgb):
    return corners(pyramid_of(rgb)) @ matched.to_second[:, :2].T + matched.to_second[:, 2]


def test_a_crop_is_placed():
    whole, part = made.texture(0), np.ascontiguousarray(made.texture(0)[50:200, 30:230])

    best = max(found(part, whole), key=lambda matched: matched.inliers)

    np.testing.assert_allclose(shown(best, part)[0], (30, 50), atol=3)
    np.testing.assert_allclose(shown(best, part)[2], (230, 200), atol=3)


def test_a_mirrored_image_is_placed():
    rgb = made.texture(1)

    best = max(found(rgb, np.ascontiguousarray(rgb[:, ::-1])), key=lambda one: one.inliers)

    np.testing.assert_allclose(shown(best, rgb)[0], (300, 0), atol=3)
    assert best.inliers > 50


def test_a_rotated_image_is_placed():
    best = found(made.texture(2), made.turned(made.texture(2), 20))[0]

    angle = np.degrees(np.arctan2(best.to_second[0, 1], best.to_second[0, 0]))
    assert angle == pytest.approx(20, abs=1)


def test_uniform_images_have_no_features():
    plain = np.full((90, 90, 3), 200, np.uint8)

    assert found(plain, plain) == []
    assert found(made.texture(0), plain) == []


def test_threads_do_not_matter():
    before, results = cv2.getNumThreads(), []
    for threads in (1, 4):
        cv2.setNumThreads(threads)
        results.append(found(made.texture(3), made.turned(made.texture(3), 10)))
    cv2.setNumThreads(before)

    for one, two in zip(*results, strict=True):
        assert one.inliers == two.inliers
        np.testing.assert_array_equal(one.to_second, two.to_second)
