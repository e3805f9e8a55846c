"""How often the answer claims a loss by similarity that simulated models do not have."""

import numpy as np

from clipaudit.reports.over_seeds import change_over_seeds
from clipaudit.similarity.reports.losses import losses_headline

RUNS = 200


def row(testset, was_right, right):
    """The row of a model pruned to the sketches, by its right answers before and after."""
    kinds = [
        (now, before, np.sum((right == now) & (was_right == before)))
        for now in (0, 1)
        for before in (0, 1)
    ]
    counts = np.array([right.sum()]), np.array([was_right.sum()]), np.array(kinds)
    low, high = change_over_seeds(*counts, 2)
    return {
        "recipe": "base", "manifest": "web.sketch-pruned", "baseline": "web", "testset": testset,
        "testset_title": testset, "relative_change": right.sum() / was_right.sum() - 1,
        "relative_change_joint_low": low, "relative_change_joint_high": high,
    }  # fmt: skip


def simulated(generator, testset, images):
    """A test set on which pruning costs 20 % of the right answers, as on every other one."""
    was_right = generator.random(images) < 0.6
    return row(testset, was_right, generator.random(images) < np.where(was_right, 0.7, 0.15))


def test_a_loss_that_a_small_test_set_shares_is_rarely_called_larger():
    by_point = claimed = 0
    for run in range(RUNS):
        generator = np.random.default_rng(run)
        sketch, val = simulated(generator, "sketch", 1000), simulated(generator, "val", 100)
        # as if the loss on the other test set were known exactly
        by_point += sketch["relative_change_joint_high"] < min(val["relative_change"], 0)
        claimed += losses_headline([sketch], [sketch, val], "").startswith("In part")

    assert by_point > 0.1 * RUNS
    assert claimed < 0.05 * RUNS
