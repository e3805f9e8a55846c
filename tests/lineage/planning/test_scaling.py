import pytest

from clipaudit.lineage.planning.scaling import Reading, law_of, laws
from clipaudit.steps.codedigest import rule_sources

KMEANS = {"clusters": 10, "iterations": 3, "samples_per_cluster": 5}


def work(script, rows, settings=None, sharers=1):
    return law_of(script).work(Reading(rows, {}, settings or {}, sharers, dimension=2))


def test_every_law_belongs_to_a_script_that_is_a_step():
    scripts = {name: rule_sources(name)[0].read_text() for name in laws()}

    assert [name for name, text in scripts.items() if "run_step(" not in text] == []


def test_every_law_gives_a_reason():
    assert [name for name, law in laws().items() if len(law.why) < 10] == []


@pytest.mark.parametrize(
    ("script", "rows", "settings", "expected"),
    [
        ("gap", {"base": 7, "similarities": 7}, {}, 7),
        ("nearest", {"train": 100, "tests": 20, "gaps": 20}, {}, 4000),
        ("overlaps", {"own": 3, "drawn": 30, "samples": 30, "embeddings": 30}, {}, 180),
        ("assign", {"embeddings": 40, "centroids": 5}, {}, 400),
        ("train", {"sealed": 50, "start": 0}, {"recipe": {"epochs": 4}}, 200),
        ("report_table", {"predictions": 9, "manifests": 4}, {}, 13),
        ("keep_all", {"samples": 6}, {}, 6),  # has no law of its own
        ("centroids", {"embeddings": 1000}, KMEANS, 50 * 10 * 3 * 2),
        ("centroids", {"embeddings": 20}, KMEANS, 20 * 10 * 3 * 2),
    ],
)
def test_work_grows_by_its_law(script, rows, settings, expected):
    assert work(script, rows, settings) == expected


def test_pairs_within_clusters_assume_equal_clusters():
    rows, groups, clusters = 1200, 3, 4  # in each group, so 12 clusters of 100

    read = {"clustered": rows, "centroids": groups * clusters}
    found = work("duplicates", read, {"group": [1, groups]}, sharers=groups)

    assert found == clusters * 100**2 * 2  # dimension of an embedding


def test_clusters_that_follow_the_data_are_counted_from_its_rows():
    settings = {"clusters": 50, "follow": True}
    few, many = (Reading({"embeddings": n}, {"embeddings": 1}, settings) for n in (100, 5_000))

    centroids = law_of("centroids")
    assert [centroids.rows("centroids", reading) for reading in (few, many)] == [2, 50]


def test_image_clusters_need_no_number():
    settings = {"samples_per_cluster": 10, "iterations": 2, "redo": 1}
    read = {"embeddings": 390}

    found = work("fit_clusters", read, {"clusters": {**settings, "clusters": None}})

    assert found == work("fit_clusters", read, {"clusters": {**settings, "clusters": 10}})


def test_a_merge_gives_as_many_rows_as_one_part():
    reading = Reading({"parts": 600}, {"parts": 6}, {})

    assert law_of("merge_neighbors").rows("neighbors", reading) == 100


def test_embedding_bytes_grow_with_the_dimension_and_rows_do_not():
    reading = Reading({"samples": 10}, {}, {}, dimension=64)
    law = law_of("embed")

    assert (law.rows("embeddings", reading), law.size("embeddings", reading)) == (10, 640)
    assert law.size("drops", reading) == 10
