import pytest

from clipaudit.reports.tables import report_table

PARAMETERS = {"small": "small", "large": "large", "large_title": "LAION-400M"}


@pytest.fixture
def table7(view, published):
    def build(neighbors, paper=None):
        views = {
            "testsets": view("testsets", [(0, "r", "ImageNet-R"), (1, "a", "My A")]),
            "neighbors": view("neighbors", neighbors),
            "published": published(paper),
        }
        # The small corpus's title is not read here; related tables share their parameters.
        parameters = {**PARAMETERS, "small_title": "ImageNet-Train"}
        return report_table("similarity_table7", views, parameters).to_pylist()

    return build


def test_four_rows_by_hand(table7):
    small, large = (0.5, 0.5, 0.5, 0.9), (0.6, 0.5, 0.7, 0.1)
    neighbors = [
        (corpus, "r", 1, row, 0, similarity)
        for corpus, similarities in (("small", small), ("large", large))
        for row, similarity in enumerate(similarities)
    ]
    neighbors += [("large", "r", 1, 3, 1, 1.0)]  # only the nearest counts

    first, second = table7(neighbors, "similarity_table7")

    columns = ("testset", "corpus_title", "images", "nearer", "ties", "share")
    assert [first[column] for column in columns] == ["r", "LAION-400M", 4, 2, 1, 0.5]
    assert (first["share_low"], first["share_high"]) == pytest.approx(
        (0.067586, 0.932414), abs=1e-6
    )
    assert (first["published_images"], first["published_share"]) == (30_000, 0.8788)
    assert [second[column] for column in columns[2:]] == [0, 0, 0, None]
    assert second["published_share"] is None


def test_one_bit_nearer_is_nearer(table7):
    neighbors = [("small", "r", 0, 0, 0, 1.0 - 2**-53), ("large", "r", 0, 0, 0, 1.0)]

    assert (table7(neighbors)[0]["nearer"], table7(neighbors)[0]["ties"]) == (1, 0)
