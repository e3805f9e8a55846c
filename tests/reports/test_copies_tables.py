from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest, t

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.copies.calibration import CALIBRATION
from clipaudit.copies.kinds import COPIES
from clipaudit.copies.reports.figures import copies_figures
from clipaudit.copies.reports.layouts import LAYOUTS
from clipaudit.copies.reports.tables import copies_tables
from clipaudit.copies.thresholds import THRESHOLDS
from clipaudit.copies.verified import PAIRS
from clipaudit.reports.forms.dots import draw_dots
from clipaudit.reports.intervals import beta_bounds, exact_interval
from clipaudit.reports.tables import report_table

MICRO = Path(__file__).parents[2] / "config/micro_copies.yaml"
LABELS = [("testset", pa.string()), ("corpus", pa.string())]
KINDS = pa.table({"position": range(len(COPIES)), "kind": list(COPIES)})
METHODS = pa.table(
    {
        "position": pa.array([0, 1], pa.int32()),
        "method": ["hash", "own"],
        "title": ["hash", "own"],
        "given": pa.array([None, 0.9], pa.float64()),
    }
)


SUMMARY = {"train": "web", "most": 50}
ALL = pa.table({"searched": [0], "images": [0]})  # no sample was drawn


@pytest.fixture
def testsets(view):
    return view("testsets", [(0, "val", "Val"), (1, "a", "A")])


def images(*rows):
    """The view `images`: corpus, shard, row, quality; digests of bytes and pixels if not unique."""
    found = []
    for corpus, shard, row, quality, *digests in rows:
        file, pixels = digests or [f"{corpus} {shard} {row}"] * 2
        place = {"corpus": corpus, "shard": shard, "row": row, "quality": quality}
        found.append(place | {"image_sha256": file, "pixels_sha256": pixels})
    return pa.Table.from_pylist(found)


def copies(*rows):
    """The view `copies`: rows of a test set, its image, a training image, a kind."""
    empty = dict.fromkeys(PAIRS.names) | {"same_bytes": False, "same_pixels": False, "edits": ""}
    return pa.Table.from_pylist(
        [
            {
                **empty,
                "testset": testset,
                "corpus": "web",
                "other_shard": 0,
                "other_row": other,
                "shard": 0,
                "row": own,
                "kind": kind,
            }
            for testset, other, own, kind in rows
        ],
        pa.schema([*LABELS, *PAIRS]),
    )


def test_the_summary_counts_images_by_their_nearest_copy(testsets):
    found = copies(
        ("val", 0, 5, "edited"),
        ("val", 0, 6, "identical bytes"),
        ("val", 1, 6, "edited"),
        ("val", 2, 7, "lookalike"),
    )
    hashed = images(
        *(("val", 0, row, 90) for row in range(3)),
        ("val", 0, 3, 10),
        *(("a", 0, row, 90) for row in range(2)),
        *(("web", 0, row, 90) for row in range(10)),
    )
    views = {"images": hashed, "copies": found, "testsets": testsets, "kinds": KINDS}
    views["searched"] = ALL

    val, a = report_table("copies_summary", views, SUMMARY).to_pylist()

    assert (val["images"], val["flat"], val["with_copy"], val["share"]) == (4, 1, 2, 0.5)
    assert (val["identical_bytes"], val["edited"], val["lookalikes"]) == (1, 1, 1)
    assert (val["searched"], val["training_images"], val["training_share"]) == (10, 2, 0.2)
    assert (val["share_low"], val["share_high"]) == pytest.approx((0.0676, 0.9324), abs=1e-4)
    chosen = binomtest(2, 4).proportion_ci(confidence_level=0.975)  # one of two test sets
    assert (val["largest_low"], val["largest_high"]) == pytest.approx((chosen.low, chosen.high))
    assert (a["images"], a["with_copy"], a["share"], a["lookalikes"]) == (2, 0, 0.0, 0)


def equal_images():
    """Four test images of equal pixels, two also of equal bytes; only one is in a pair."""
    equal = [("val", 0, 0, 90, "png", "black"), ("val", 0, 1, 90, "png", "black")]
    equal += [("val", 0, row, 90, f"jpeg {row}", "black") for row in (2, 3)]
    return images(*equal, ("val", 0, 4, 90), ("a", 0, 0, 90, "png", "black"))


def test_images_with_the_pixels_of_one_that_has_a_copy_have_it_too(testsets):
    found = copies(("val", 0, 5, "identical bytes"), ("val", 4, 5, "lookalike"))
    views = {"images": equal_images(), "copies": found, "testsets": testsets, "kinds": KINDS}
    views["searched"] = ALL

    val, a = report_table("copies_summary", views, SUMMARY).to_pylist()
    shown, other = report_table("copies_shares", views, {"title": "web"}).to_pylist()

    assert (val["with_copy"], val["identical_bytes"], val["identical_pixels"]) == (4, 2, 2)
    assert (shown["with_copy"], a["with_copy"], other["with_copy"]) == (4, 0, 0)


def test_equal_test_images_count_as_one_draw_in_the_interval(testsets):
    found = copies(("val", 0, 5, "identical bytes"))
    views = {"images": equal_images(), "copies": found, "testsets": testsets, "kinds": KINDS}
    views["searched"] = ALL

    val, _ = report_table("copies_summary", views, SUMMARY).to_pylist()
    shown, _ = report_table("copies_shares", views, {"title": "web"}).to_pylist()

    effective = 5**2 / (4**2 + 1)  # four equal images, and one more
    bounds = beta_bounds(np.array([0.8 * effective]), np.array([effective]))[0]
    assert (val["share"], val["effective"]) == (0.8, effective)
    assert (val["share_low"], val["share_high"]) == (shown["low"], shown["high"]) == tuple(bounds)
    assert val["largest_low"] < val["share_low"] < 0.1


def test_training_images_with_as_many_candidates_as_are_compared_are_counted(testsets):
    found = copies(*(("val", other, own, "lookalike") for own in (5, 6) for other in range(own)))
    hashed = images(*(("val", 0, row, 90) for row in range(9)))
    views = {"images": hashed, "copies": found, "testsets": testsets, "kinds": KINDS}
    views["searched"] = ALL

    val, _ = report_table("copies_summary", views, SUMMARY | {"most": 6}).to_pylist()

    assert (val["crowded"], val["lookalikes"]) == (1, 11)


def test_the_figure_shows_the_share_of_images_with_a_copy_per_test_set(testsets):
    found = copies(("val", 0, 5, "edited"), ("val", 0, 6, "edited"), ("val", 2, 7, "lookalike"))
    hashed = images(*(("val", 0, row, 90) for row in range(4)), ("a", 0, 0, 90))
    views = {"images": hashed, "copies": found, "testsets": testsets, "kinds": KINDS}

    table = report_table("copies_shares", views, {"title": "web"})

    val, a = table.to_pylist()
    assert (val["images"], val["with_copy"], val["value"], a["value"]) == (4, 1, 0.25, 0.0)
    assert (val["low"], val["high"]) == pytest.approx((0.0063, 0.8059), abs=1e-4)
    options = {"x_label": "images with a copy (%)", "scale": "percent", "empty": "no images"}
    assert draw_dots(table, options).axes[0].get_title(loc="left") == "in web"


def test_the_figure_of_shares_states_its_intervals_as_the_table_does():
    run = parse_settings(read_settings(MICRO))

    captions = copies_figures(run)["copies_shares"].caption, LAYOUTS["copies_summary"].caption

    assert all("exact, with equal test images as one draw" in each for each in captions)


def sampled():
    settings = read_settings(MICRO)
    settings["copies"]["sample"] = 60
    return parse_settings(settings)


def test_the_figure_of_shares_says_that_a_sample_gives_lower_bounds():
    caption = copies_figures(sampled())["copies_shares"].caption

    assert "If web has more, counts of test images" in caption
    assert "are lower bounds" in caption


def test_the_summary_says_lower_bounds_only_of_a_sample_of_fewer_images():
    (note,) = copies_tables(sampled())["copies_summary"].notes

    assert note.startswith("Up to 60 images of web were searched, drawn with seed 0. If web has")


def test_planted_copies_outside_of_a_sample_are_said_to_be_beyond_the_search():
    (note,) = copies_tables(sampled())["copies_planted"].notes

    assert note.startswith("Copies are planted among all images of web, and up to 60 of these")


@pytest.mark.parametrize(("repeats", "compared"), [(True, ["val", "web"]), (False, ["val"])])
def test_copies_of_a_split_are_not_compared_with_the_planted_ones(repeats, compared):
    settings = read_settings(MICRO)
    settings["corpora"]["few"] = {"of": "val", "where": "row in (1, 2)"}
    settings["copies"] |= {"test_sets": ["val", "few"], "repeats": repeats}

    table = copies_tables(parse_settings(settings))["copies_planted"]

    assert [row["testset"] for row in table.relations["searched_sets"]] == compared


def test_pairs_are_listed_nearest_first_without_lookalikes(testsets):
    found = copies(
        ("val", 3, 9, "lookalike"), ("val", 1, 5, "edited"), ("val", 2, 6, "identical pixels")
    )
    views = {"copies": found, "testsets": testsets, "kinds": KINDS}

    rows = report_table("copies_pairs", views, {"shown": 5}).to_pylist()

    assert [(row["place"], row["test_row"], row["kind"]) for row in rows] == [
        (1, 2, "identical pixels"),
        (2, 1, "edited"),
    ]


@pytest.mark.parametrize("sizes", [(), (3, 2)])
def test_repeats_are_counted_beyond_the_first_of_each_group(sizes):
    rows = [
        {"corpus": "web", "shard": 0, "row": first + n, "first_shard": 0, "first_row": first}
        | {"size": size}
        for first, size in zip((0, 50), sizes, strict=False)
        for n in range(size)
    ]
    schema = pa.schema(
        [("corpus", pa.string())]
        + [(name, pa.int32()) for name in ("shard", "row", "first_shard", "first_row")]
        + [("size", pa.int64())]
    )
    views = {
        "images": images(*(("web", 0, row, 90) for row in range(20))),
        "groups": pa.Table.from_pylist(rows, schema),
        "searched": ALL,
    }

    params = {"train": "web", "title": "Web"}
    (row,) = report_table("copies_within", views, params).to_pylist()

    expected = (20, 5, 2, 3, 3) if sizes else (20, 0, 0, 0, 0)
    names = ("images", "in_groups", "groups", "repeats", "largest")
    assert tuple(row[name] for name in names) == expected


def test_a_share_of_few_of_billions_is_not_printed_as_zero():
    low, high = exact_interval(np.array([100_000]), np.array([2_310_000_000]))[0]
    row = {"training_share": 100_000 / 2_310_000_000}
    row |= {"training_share_low": low, "training_share_high": high, "share": row["training_share"]}

    copies = LAYOUTS["copies_summary"].fields["That are copies, %"](row)
    repeats = LAYOUTS["copies_within"].fields["Repeats, %"](row)

    assert (copies, repeats) == ("0.0043 [0.0043, 0.0044]", "0.0043")


def test_no_images_have_no_share_of_repeats():
    groups = {name: pa.array([], pa.int64()) for name in ("first_shard", "first_row", "size")}
    views = {"images": images(("test", 0, 0, 90)), "groups": pa.table(groups)}
    views["searched"] = ALL

    params = {"train": "web", "title": "Web"}
    (row,) = report_table("copies_within", views, params).to_pylist()

    assert (row["images"], row["repeats"], row["share"]) == (0, 0, None)


@pytest.mark.parametrize(("drawn", "is_sampled"), [(3, True), (4, False)])
def test_a_sample_of_all_images_is_none(testsets, drawn, is_sampled):
    groups = {name: pa.array([], pa.int64()) for name in ("first_shard", "first_row", "size")}
    views = {"images": images(*(("web", 0, row, 90) for row in range(drawn)))}
    views |= {"copies": copies(), "testsets": testsets, "kinds": KINDS, "groups": pa.table(groups)}
    views["searched"] = pa.table({"searched": [drawn], "images": [4]})

    for table, params in {"copies_summary": SUMMARY, "copies_within": {"title": "Web"}}.items():
        row, *_ = report_table(table, views, {"train": "web", **params}).to_pylist()
        assert row["is_sampled"] is is_sampled


def made_copies(*found):
    """Of each original, one list: which of its copies are found, one by each way."""
    row = {"method": "hash", "transformation": "jpeg", "strength": 30.0, "label": "quality 30"}
    rows = [
        {**row, "position": way, "original": original, "found": each, "verified": each}
        for original, ways in enumerate(found)
        for way, each in enumerate(ways)
    ]
    return {"calibration": pa.Table.from_pylist(rows, CALIBRATION), "methods": METHODS}


def test_the_calibration_shows_shares_of_made_copies():
    views = made_copies(*[[True]] * 8, *[[False]] * 2)

    cell, whole = report_table("copies_calibration", views, {}).to_pylist()

    assert (cell["way"], cell["found_share"], cell["copies"]) == ("jpeg, quality 30", 0.8, 10)
    assert (whole["way"], whole["found_share"], whole["copies"]) == ("all copies", 0.8, 10)


def test_the_interval_of_all_made_copies_is_over_the_originals():
    views = made_copies(*[[True, True, False], [True, False, False]] * 8)
    shares = np.array([2 / 3, 1 / 3] * 8)

    *_, whole = report_table("copies_calibration", views, {}).to_pylist()

    half = t.ppf(0.975, 15) * shares.std(ddof=1) / 4
    assert whole["verified_share"] == pytest.approx(shares.mean())
    assert whole["verified_share_low"] == pytest.approx(shares.mean() - half)
    assert whole["verified_share_high"] == pytest.approx(shares.mean() + half)


def test_copies_that_are_all_found_are_not_certain_to_be():
    *_, whole = report_table("copies_calibration", made_copies(*[[True] * 3] * 5), {}).to_pylist()

    bounds = exact_interval(np.array([5]), np.array([5]))[0]  # as if each original had one copy
    assert (whole["verified_share_low"], whole["verified_share_high"]) == tuple(bounds)


def test_without_a_threshold_the_calibration_has_no_shares():
    views = made_copies([None, None], [None, None])

    for row in report_table("copies_calibration", views, {}).to_pylist():
        assert row["copies"] > 0
        assert row["found_share"] is row["found_share_low"] is row["found_share_high"] is None


def threshold(method, value, *, chosen, note=None):
    row = dict.fromkeys(THRESHOLDS.names)
    counts = {"negative_pairs": 1000, "false_positives": 0, "per_million": 0.0, "recall": 0.5}
    return {
        **row,
        **counts,
        "method": method,
        "threshold": value,
        "chosen": chosen,
        "asked_per_million": 1.0,
        "note": note,
    }


def test_the_table_shows_the_chosen_thresholds_and_those_in_the_settings():
    table = pa.Table.from_pylist(
        [
            threshold("hash", 30.0, chosen=False),
            threshold("hash", 31.0, chosen=True, note="too few pairs"),
            threshold("own", 0.8, chosen=False),
        ],
        THRESHOLDS,
    )

    rows = report_table("copies_thresholds", {"thresholds": table, "methods": METHODS}, {})

    assert [(row["threshold"], row["is_given"], row["note"]) for row in rows.to_pylist()] == [
        (31.0, False, "too few pairs"),
        (0.9, True, None),
    ]


def test_the_caption_does_not_call_a_threshold_of_the_settings_the_loosest_within_the_rate():
    caption = LAYOUTS["copies_thresholds"].caption

    assert "Unless the settings give it or a note says otherwise, it is the loosest" in caption


def test_similarities_that_find_equally_many_copies_come_with_the_strictest_first():
    curve = [(0.9, 0, 0.4), (0.8, 2, 0.5), (0.7, 5, 0.5), (0.6, 9, 0.6)]
    rows = [
        threshold("own", value, chosen=False) | {"false_positives": false, "recall": recall}
        for value, false, recall in curve
    ]
    table = pa.Table.from_pylist(rows[::-1], THRESHOLDS)

    drawn = report_table("copies_trade_off", {"thresholds": table, "methods": METHODS}, {})

    assert drawn["threshold"].to_pylist() == [0.9, 0.8, 0.7, 0.6]
