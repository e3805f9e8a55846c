import numpy as np
import pytest

from clipaudit.reports.tables import report_table

PARAMETERS = {"small": "small", "large": "large", "small_title": "S", "large_title": "L, pruned"}
TESTSETS = [(0, "sketch", "Sketch"), (1, "a", "A")]


@pytest.fixture
def normalized(view):
    def build(similarities, gaps, kept, testsets=TESTSETS[:1], bins=100):
        """Gaps of each test set by test row; kept rows of the one shard of `large` by test set."""
        manifest_rows = [
            ("large", f"{name}-cut", 0, row, keep)
            for name, keeps in kept.items()
            for row, keep in enumerate(keeps)
        ]
        views = {
            "testsets": view("testsets", testsets),
            "pruned": view("pruned", [(name, f"large.{name}") for name in kept]),
            "members": view("members", [(f"large.{n}", "large", f"{n}-cut") for n in kept]),
            "manifest_rows": view("manifest_rows", manifest_rows),
            "similarities": view("similarities", similarities),
            "neighbors": view(
                "neighbors",
                [
                    ("small", name, 0, row, rank, gap - 0.1 * rank)
                    for name, values in gaps.items()
                    for row, gap in enumerate(values)
                    for rank in (0, 1)
                ],
            ),
        }
        return report_table("similarity_normalized", views, {**PARAMETERS, "bins": bins})

    return build


def shown(table, *columns):
    return [tuple(row.values()) for row in table.select(list(columns)).to_pylist()]


def test_four_rows_match_a_hand_calculation(normalized):
    similarities = [
        ("large", "sketch", 0, 0, 0.48, 0, 0),  # 0.96
        ("large", "sketch", 0, 1, 0.60, 0, 1),  # 0.75
        ("large", "sketch", 0, 2, 0.79, 0, 1),  # pruned
        ("large", "sketch", 0, 3, 0.48, 0, 0),  # 0.96
        ("small", "sketch", 0, 2, 0.10, 0, 0),  # 0.2
    ]

    table = normalized(similarities, {"sketch": [0.5, 0.8]}, {"sketch": [True, True, False, True]})

    assert shown(table, "series", "series_title", "corpus", "manifest", "bin_low", "samples") == [
        ("pruned", "L, pruned", "large", "large.sketch", 0.75, 1),
        ("pruned", "L, pruned", "large", "large.sketch", 0.96, 2),
        ("small", "S", "small", None, 0.20, 1),
    ]
    assert shown(table, "all_samples", "share", "density") == [
        (3, 1 / 3, 100 / 3),
        (3, 2 / 3, 200 / 3),
        (1, 1.0, 100.0),
    ]


def test_a_sample_exactly_at_the_gap_is_in_the_last_bin(normalized):
    gap = 0.7
    values = [gap, float(np.nextafter(gap, 0))]
    similarities = [("small", "sketch", 0, row, value, 0, 0) for row, value in enumerate(values)]

    table = normalized(similarities, {"sketch": [gap]}, {"sketch": []})

    assert shown(table, "series", "bin_low", "bin_high", "samples") == [
        ("pruned", None, None, 0),
        ("small", 0.99, 1.0, 2),
    ]


def test_no_sample_below_the_gap_is_shown_beyond_it(normalized):
    gaps = [place / 100 for place in range(1, 100)]
    similarities = [
        ("small", "sketch", 0, row, float(np.nextafter(gap, 0)), 0, row)
        for row, gap in enumerate(gaps)
    ]

    table = normalized(similarities, {"sketch": gaps}, {"sketch": []}).slice(1)

    assert shown(table, "bin_high", "samples") == [(1.0, len(gaps))]


@pytest.mark.parametrize("gap", [0.0, -0.2])
def test_samples_without_a_normalized_similarity_are_counted(normalized, gap):
    similarities = [
        ("small", "sketch", 0, 0, -0.3, 0, 0),
        ("small", "sketch", 0, 1, 0.5, 0, 9),  # a test image without a gap
        ("large", "sketch", 0, 0, -0.3, 0, 0),
    ]

    table = normalized(similarities, {"sketch": [gap]}, {"sketch": [True]})

    columns = ("series", "bin_low", "samples", "all_samples", "not_normalized", "density")
    assert shown(table, *columns) == [
        ("pruned", None, 0, 0, 1, None),
        ("small", None, 0, 0, 2, None),
    ]


def test_each_test_set_has_its_own_pruned_set(normalized):
    similarities = [("large", name, 0, 0, 0.5, 0, 0) for name in ("sketch", "a")]
    gaps = {"sketch": [1.0], "a": [1.0]}

    table = normalized(similarities, gaps, {"sketch": [False], "a": [True]}, testsets=TESTSETS)

    columns = ("testset", "series", "samples")
    assert shown(table, *columns)[::2] == [("sketch", "pruned", 0), ("a", "pruned", 1)]


@pytest.mark.parametrize("seed", range(3))
def test_the_histogram_equals_a_recomputation_row_by_row(view, seed):
    random = np.random.default_rng(seed)
    corpora, names = ("large", "small", "other"), ("sketch", "a")
    addresses = [(shard, row) for shard in (0, 1, 7) for row in range(150)]  # words of 64 rows
    gaps = {(name, row): float(random.uniform(-0.1, 1)) for name in names for row in range(20)}
    kept = {(n, *place): bool(random.random() < 0.5) for n in names for place in addresses}
    similarities = [
        (corpus, name, *place, float(random.uniform(-0.1, 1)), 0, int(random.integers(20)))
        for corpus in corpora
        for place in addresses
        for name in names
    ]
    expected = {}
    for corpus, name, shard, row, similarity, _, test_row in similarities:
        gap = gaps[name, test_row]
        counts = corpus == "small" or (corpus == "large" and kept[name, shard, row])
        if counts and gap > 0:
            series = "small" if corpus == "small" else "pruned"
            key = (name, series, int(np.floor(50 * similarity / gap)))
            expected[key] = expected.get(key, 0) + 1
    order = random.permutation(len(similarities))
    views = {
        "testsets": view("testsets", TESTSETS),
        "pruned": view("pruned", [(name, name) for name in names]),
        "members": view("members", [(name, "large", name) for name in names]),
        "manifest_rows": view(
            "manifest_rows",
            [("large", name, shard, row, keep) for (name, shard, row), keep in kept.items()],
        ),
        "similarities": view("similarities", [similarities[n] for n in order]),
        "neighbors": view(
            "neighbors", [("small", name, 0, row, 0, gap) for (name, row), gap in gaps.items()]
        ),
    }

    table = report_table("similarity_normalized", views, {**PARAMETERS, "bins": 50})

    rows = shown(table, "testset", "series", "bin_low", "samples")
    assert {(name, s, round(low * 50)): n for name, s, low, n in rows} == expected
