import numpy as np
import pytest
from scipy.stats import spearmanr

from clipaudit.reports.fits import logistic_fit
from clipaudit.reports.tables import report_table


@pytest.fixture
def correlation(view, published):
    def build(similarities, ranks, testsets=((0, "sketch", "Sketch"),), order=None, paper=None):
        """Similarity, or None, and `right_rank` by test row of `sketch`."""
        neighbors = [
            ("", "sketch", 0, row, rank, similarity - 0.1 * rank)
            for row, similarity in enumerate(similarities)
            if similarity is not None
            for rank in (0, 1)
        ]
        neighbors.append(("", "other", 0, 0, 0, 0.01))
        answers = [("b32", "large", "sketch", 0, row, rank) for row, rank in enumerate(ranks)]
        order = range(len(answers)) if order is None else order
        views = {
            "testsets": view("testsets", list(testsets)),
            "neighbors": view("neighbors", neighbors).drop_columns("corpus"),
            "predictions": view("predictions", [answers[n] for n in order]),
            "published": published(paper),
        }
        return report_table("similarity_correlation", views, {"bins": 20})

    return build


def test_five_images_match_a_hand_calculation(correlation):
    similarities, ranks = [0.62, 0.64, 0.81, 0.82, 1.0], [3, 0, 0, 1, 0]

    table = correlation(similarities, ranks)

    columns = ["bin_low", "bin_high", "images", "correct", "accuracy"]
    assert [tuple(row.values()) for row in table.select(columns).to_pylist()] == [
        (0.60, 0.65, 2, 1, 0.5),
        (0.80, 0.85, 2, 1, 0.5),
        (0.95, 1.00, 1, 1, 1.0),
    ]
    row = table.to_pylist()[0]
    # 1 of 2: the roots of the binomial tails at 2.5 %
    assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx(
        (0.012579, 0.987421), abs=1e-6
    )
    # ranks 1..5 against 1.5, 4, 4, 1.5, 4
    assert row["rank_correlation"] == pytest.approx(0.5 / np.sqrt(10 * 7.5) * 5)
    assert (row["all_images"], row["without_similarity"]) == (5, 0)


def test_correlation_and_fit_are_over_single_images(correlation):
    random = np.random.default_rng(0)
    similarities = random.uniform(0.3, 1, 300)
    is_right = random.random(300) < similarities

    table = correlation(similarities.tolist(), (~is_right).astype(int).tolist())

    expected = spearmanr(similarities, is_right).statistic
    row = table.to_pylist()[-1]
    assert row["rank_correlation"] == pytest.approx(expected, abs=1e-12)
    assert (row["intercept"], row["slope"]) == logistic_fit(similarities, is_right)
    assert set(table["slope"].to_pylist()) == {row["slope"]}


def test_an_image_without_an_embedding_is_counted_and_omitted(correlation):
    table = correlation([0.6, None, 0.7], [0, 0, 1])

    assert table["images"].to_pylist() == [1, 1]
    assert table["all_images"].to_pylist() == [2, 2]
    assert table["without_similarity"].to_pylist() == [1, 1]


def test_the_papers_points_are_in_their_bins_even_without_images(correlation):
    testsets = [(0, "sketch", "ImageNet-Sketch")]

    table = correlation([0.6, 0.97], [0, 0], testsets, paper="similarity_fig3_left")

    columns = ["bin_low", "images", "accuracy", "published_similarity", "published_accuracy"]
    assert [tuple(row.values()) for row in table.select(columns).to_pylist()] == [
        (0.35, 0, None, 0.38, 0.35),
        (0.6, 1, 1.0, None, None),
        (0.95, 1, 1.0, 1.0, 0.69),
    ]


def test_a_test_set_without_predictions_keeps_its_row(correlation):
    table = correlation([], [], testsets=[(0, "sketch", "Sketch"), (1, "val", "Val")])

    columns = ["testset", "bin_low", "images", "accuracy", "slope", "all_images"]
    assert [tuple(row.values()) for row in table.select(columns).to_pylist()] == [
        ("sketch", None, 0, None, None, 0),
        ("val", None, 0, None, None, 0),
    ]


def test_a_model_that_is_always_right_correlates_with_nothing(correlation):
    row = correlation([0.5, 0.6, 0.7], [0, 0, 0]).to_pylist()[0]

    assert (row["rank_correlation"], row["intercept"], row["slope"]) == (None, None, None)


def test_the_order_of_input_rows_does_not_affect_the_table(correlation):
    random = np.random.default_rng(1)
    similarities, ranks = random.uniform(0.3, 1, 200), random.integers(0, 2, 200).tolist()

    turned = correlation(similarities, ranks, order=random.permutation(200))

    assert correlation(similarities, ranks).equals(turned)
