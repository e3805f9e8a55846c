"""The SQL of the parrot audit's figures of inspected models: over rows worked by hand, and stored
tables."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.corpora.manifests import MANIFEST
from clipaudit.corpora.samples import SAMPLES
from clipaudit.parrot.caption_scores import SCORES
from clipaudit.parrot.clusters import PLACED
from clipaudit.parrot.matching import MATCHES
from clipaudit.parrot.reports.inspected_figures import DIFFERENCES, KINDS, SERIES
from clipaudit.reports.tables import report_table
from clipaudit.store.actions import LabelledFile

TEXT, INT = pa.string(), pa.int32()
ENCODER = pa.field("encoder", TEXT)
ERASED = ("all", "co", "random_all", "random_co")


def matches(kinds):
    """A view of images of these kinds; tokenized as `plain`, no word is co-embedded."""
    rows = [
        {"shard": 0, "row": row, "spans": int(kind != "none"), "plain_co": []}
        | {f"{prefix}_{name}": 1 for prefix in ("words", "plain") for name in ("caption", "fuzzy")}
        | {"words_co": ["be"] if kind == "co" else []}
        for row, kind in enumerate(kinds)
    ]
    return pa.Table.from_pylist(rows, MATCHES)


def scores(rows, encoder="own"):
    """A view of (row, raw, then all, co, random_all and random_co as far as given)."""
    found = [
        {"encoder": encoder, "shard": 0, "row": row, "raw": raw}
        | dict(zip(ERASED, erased, strict=False))
        for row, raw, *erased in rows
    ]
    return pa.Table.from_pylist(found, SCORES.append(ENCODER))


def placed(groups):
    rows = [{"shard": 0, "row": n, "cluster": 9, "group": each} for n, each in enumerate(groups)]
    return pa.Table.from_pylist(rows, PLACED)


def relation(key, names):
    """The relation of these names, with titles."""
    rows = [{"position": n, key: name, "title": f"is {name}"} for n, name in enumerate(names)]
    return pa.Table.from_pylist(rows)


def samples(captions):
    rows = [{"shard": 0, "row": row, "caption": each} for row, each in enumerate(captions)]
    named = pa.schema([field for field in SAMPLES if field.name in ("shard", "row", "caption")])
    return pa.Table.from_pylist(rows, named)


KIND_ROWS = relation("kind", [kind for kind, _ in KINDS])


# --- all pairs and the top ones ------------------------------------------------------------------


def fig1(kinds, raw, *, top=5, tokenization="words", encoders=("own",)):
    """The images of each kind by (encoder, selection), and all of them."""
    views = {
        "models": relation("encoder", encoders),
        "selections": relation("selection", ["all", "top"]),
        "kinds": KIND_ROWS,
        "matches": matches(kinds),
        "scores": scores(list(enumerate(raw))),
    }
    table = report_table("parrot_fig1", views, {"tokenization": tokenization, "top": top})
    found = {}
    for row in table.to_pylist():
        key = (row["encoder"], row["selection"])
        found.setdefault(key, []).append((row["kind"], row["pictures"], row["share"]))
    return found


def test_the_top_pairs_have_the_highest_scores():
    found = fig1(["none", "co", "apart", "co"], [0.5, 0.25, 0.75, 1.0], top=50)

    assert found["own", "all"] == [("none", 1, 0.25), ("apart", 1, 0.25), ("co", 2, 0.5)]
    assert found["own", "top"] == [("none", 0, 0), ("apart", 1, 0.5), ("co", 1, 0.5)]


@pytest.mark.parametrize(("pairs", "top"), [(1, 1), (20, 1), (21, 2), (40, 2), (60, 3), (61, 4)])
def test_the_number_of_top_pairs_is_rounded_up(pairs, top):
    found = fig1(["none"] * pairs, [0.5] * pairs)

    assert found["own", "top"][0] == ("none", top, 1)


def test_equal_scores_are_ordered_by_address():
    found = fig1(["co", "none", "none"], [0.5, 0.5, 0.5], top=1)

    assert [pictures for _, pictures, _ in found["own", "top"]] == [0, 0, 1]


def test_exact_tokenization_gives_other_co_embedded_words():
    found = fig1(["co", "none"], [0.5, 0.5], tokenization="plain")

    assert [pictures for _, pictures, _ in found["own", "all"]] == [1, 1, 0]


def test_images_without_a_score_are_no_pairs_and_models_without_pairs_have_no_share():
    found = fig1(["co", "none"], [0.5], encoders=("own", "other"))

    assert found["own", "all"] == [("none", 0, 0), ("apart", 0, 0), ("co", 1, 1)]
    assert found["other", "top"] == [(kind, 0, None) for kind, _ in KINDS]


# --- groups of clusters --------------------------------------------------------------------------

GROUPED = (  # group 7: half with text; 3: as many; 5: none; 1: all
    *(("none", 7), ("co", 7)),
    *(("apart", 3), ("none", 3), ("co", 3), ("none", 3)),
    ("none", 5),
    ("co", 1),
)
GROUPED_KINDS, GROUPS = zip(*GROUPED, strict=True)


def fig3(kinds, groups, tokenization="words", captions=()):
    views = {"kinds": KIND_ROWS, "matches": matches(kinds), "placed": placed(groups)}
    views["samples"] = samples(captions)
    parameters = {"tokenization": tokenization, "title": "Web"}
    return report_table("parrot_fig3", views, parameters).to_pylist()


def test_groups_are_sorted_by_share_with_text_and_then_by_number():
    rows = fig3(GROUPED_KINDS, GROUPS)

    found = {row["bar_position"]: (row["group"], row["share_with_text"]) for row in rows}
    assert found == {0: (5, 0), 1: (3, 0.5), 2: (7, 0.5), 3: (1, 1)}


def test_a_group_has_a_row_for_each_kind():
    rows = [row for row in fig3(GROUPED_KINDS, GROUPS) if row["group"] == 3]

    assert [(row["kind"], row["pictures"], row["share"]) for row in rows] == [
        *(("none", 2, 0.5), ("apart", 1, 0.25), ("co", 1, 0.25)),
    ]
    assert {row["all_pictures"] for row in rows} == {4}
    assert {(row["bar_title"], row["panel_title"]) for row in rows} == {("3", "Web")}


def test_a_group_is_named_after_distinctive_words_of_its_captions():
    captions = ["a red Dog", "a dog dog runs", "a cat", "A cat sits", None, ""]

    rows = fig3(["co"] * 6, [4, 4, 2, 2, 9, 9], captions=captions)

    names = {row["group"]: row["bar_title"] for row in rows}
    assert names == {4: "dog, red", 2: "cat, sits", 9: "9"}


def test_images_without_a_cluster_are_omitted():
    rows = fig3(["co", "none"], [2])

    assert [row["pictures"] for row in rows] == [0, 0, 1]
    assert fig3(["co"], []) == []


def test_kinds_use_exact_words_if_requested():
    assert [row["pictures"] for row in fig3(["co"], [2], "plain")] == [0, 1, 0]


# --- means by group ------------------------------------------------------------------------------


def fig4(kinds, groups, *rows):
    """The row of each series, by group in their order."""
    views = {
        "series": relation("series", SERIES),
        "matches": matches(kinds),
        "placed": placed(groups),
        "samples": samples(["a Dog", "a cat"]),
        "scores": scores(rows),
    }
    found = {}
    for row in report_table("parrot_fig4", views, {}).to_pylist():
        found.setdefault(row["group"], {})[row["series"]] = row
    return found


def means(kinds, groups, *rows):
    """The mean and the images of each series, by group in their order."""
    return {
        group: {name: (row["value"], row["pictures"]) for name, row in found.items()}
        for group, found in fig4(kinds, groups, *rows).items()
    }


def test_means_are_over_images_without_text_or_all_images_with_text():
    found = means(
        ["none", "co", "co"],
        [2, 2, 2],
        (0, 0.125),
        (1, 0.5, 0.25, 0.375, 0.5, 0.5),
        (2, 0.75, 0.25, 0.625, 0.625, 0.5),
    )

    assert found[2] == {
        "none": (0.125, 1),
        "raw": (0.625, 2),
        "all": (0.25, 2),
        "co": (0.5, 2),
        "random_all": (0.5625, 2),
        "random_co": (0.5, 2),
    }


def test_an_image_keeps_its_score_if_nothing_is_removed():
    found = means(["apart", "co"], [2, 2], (0, 0.5, 0.25), (1, 0.75, 0.5, 0.25))

    assert found[2]["co"] == ((0.5 + 0.25) / 2, 2)
    assert found[2]["random_all"] == found[2]["random_co"] == found[2]["raw"] == (0.625, 2)


def test_means_follow_the_order_of_the_groups_of_figure_3():
    found = means(GROUPED_KINDS, GROUPS, *((row, 0.5) for row in range(len(GROUPS))))

    assert list(found) == [5, 3, 7, 1]
    assert all(list(each) == list(SERIES) for each in found.values())
    assert found[5]["raw"] == (None, 0)
    assert found[1]["none"] == (None, 0)


def test_an_image_without_a_caption_counts_only_for_the_order():
    found = means(["co", "none", "co"], [1, 1, 2], (2, 0.5))

    assert list(found) == [1, 2]
    assert (found[1]["raw"], found[2]["raw"]) == ((None, 0), (0.5, 1))


def test_a_mean_has_students_interval_over_images_but_none_for_one_image():
    found = fig4(["co"] * 4, [2, 2, 2, 1], (0, 0.375), (1, 0.5), (2, 0.625), (3, 0.5))

    mean = found[2]["raw"]
    margin = 4.302653 * 0.125 / 3**0.5  # 2 degrees of freedom
    assert (mean["low"], mean["high"]) == pytest.approx((0.5 - margin, 0.5 + margin))
    assert found[1]["raw"]["low"] is None
    assert found[2]["raw"]["group_title"] == "a, cat"


def test_an_interval_of_few_cosines_ends_at_one():
    mean = fig4(["co"] * 2, [2, 2], (0, 0.25), (1, 0.75))[2]["raw"]

    assert (mean["low"], mean["value"], mean["high"]) == (-1, 0.5, 1)  # Student's: -2.7 to 3.7


def test_the_order_of_rows_changes_no_bit():
    rows = [(row, 0.1 + row / 7, row / 11, row / 13, row / 17, row / 19) for row in range(40)]
    kinds, groups = ["co"] * 40, [row % 3 for row in range(40)]

    assert fig4(kinds, groups, *rows) == fig4(kinds, groups, *rows[::-1])


# --- differences ---------------------------------------------------------------------------------


def differences(*rows):
    views = {"differences": relation("difference", DIFFERENCES), "scores": scores(rows)}
    found = {}
    for row in report_table("parrot_fig4_differences", views, {"bins": 4}).to_pylist():
        found.setdefault(row["difference"], []).append(row)
    return found


def test_a_bin_takes_its_lower_edge():
    found = differences((0, 0.5, 0.25), (1, 0.5, 0.375), (2, 0.5, 0.625), (3, 0.5))

    bins = [(row["bin_low"], row["bin_high"], row["pictures"]) for row in found["rsa"]]
    assert bins == [(-0.25, 0, 1), (0, 0.25, 1), (0.25, 0.5, 1)]
    assert {row["share"] for row in found["rsa"]} == {1 / 3}


def test_the_share_below_zero_and_the_mean_need_both_scores():
    found = differences((0, 0.5, 0.25), (1, 0.5, 0.75), (2, 0.5, 0.5), (3, 0.5, 1.0), (4, 0.5))

    (rsa, *_) = found["rsa"]
    assert (rsa["all_pictures"], rsa["share_below"], rsa["mean"]) == (4, 0.5, -0.125)


def test_the_effect_of_sparing_co_embedded_text_needs_both_removals():
    found = differences((0, 0.5, 0.25, 0.5), (1, 0.5, 0.25))

    (spared,) = found["spared"]
    assert (spared["bin_low"], spared["pictures"], spared["mean"]) == (0.25, 1, 0.25)
    assert found["rsc"][0]["bin_low"] == 0


def test_random_removal_has_its_own_difference():
    found = differences((0, 0.5, 0.25, None, 0.25, 0.125), (1, 0.5, 0.25, 0.25, 0.5, 0.25))

    means = {name: found[name][0]["mean"] for name in ("random_rsa", "random_rsc")}
    assert means == {"random_rsa": 0.125, "random_rsc": 0.25}


def test_a_difference_without_images_has_one_row():
    found = differences((0, 0.5))

    assert list(found) == list(DIFFERENCES)
    (row,) = found["rsa"]
    assert (row["bin_low"], row["share_below"], row["all_pictures"]) == (None, None, 0)


# --- held-out images ---------------------------------------------------------------------------


def heldout(**sets):
    """A view of sets, each of these rows; no set keeps row 9."""
    rows = [
        {"curated": name, "shard": 0, "row": row, "kept": row in kept}
        for name, kept in sets.items()
        for row in (*kept, 9)
    ]
    columns = [("curated", TEXT), ("shard", INT), ("row", INT), ("kept", pa.bool_())]
    return pa.Table.from_pylist(rows, pa.schema(columns))


def fig7(*views, sets=None):
    series = [("none", "clean")]
    series += [(name, "parrot") for name in ("raw", "co", "random_co", "all", "random_all")]
    found = report_table(
        "parrot_fig7",
        {
            "models": relation("encoder", ["own", "model"]),
            "series": pa.Table.from_pylist(
                [
                    {"position": n, "series": name, "title": name, "curated": curated}
                    for n, (name, curated) in enumerate(series)
                ]
            ),
            "scores": pa.concat_tables(views),
            "heldout": heldout(**(sets or {"clean": [0, 1], "parrot": [2, 3]})),
        },
        {},
    ).to_pylist()
    return {(row["encoder"], row["series"]): (row["value"], row["pictures"]) for row in found}


def test_models_are_compared_on_each_held_out_set():
    own = [(0, 0.25), (1, 0.5), (2, 0.75, 0.25, 0.5, 0.5, 0.625), (3, 0.5, 0.125, 0.25)]
    own.append((9, 1.0, 1.0, 1.0))

    found = fig7(scores(own), scores([(0, 0.5), (2, 0.25, 0.5, 0.75)], "model"))

    assert found == {
        ("own", "none"): (0.375, 2),
        ("own", "raw"): (0.625, 2),
        ("own", "co"): (0.375, 2),
        ("own", "random_co"): (0.5625, 2),
        ("own", "all"): (0.1875, 2),
        ("own", "random_all"): (0.5, 2),
        ("model", "none"): (0.5, 1),
        ("model", "raw"): (0.25, 1),
        ("model", "co"): (0.75, 1),
        ("model", "random_co"): (0.25, 1),
        ("model", "all"): (0.5, 1),
        ("model", "random_all"): (0.25, 1),
    }


def test_a_held_out_set_without_images_has_no_mean():
    found = fig7(scores([(0, 0.25)]), sets={"clean": [0], "parrot": []})

    assert found["own", "none"] == (0.25, 1)
    assert found["own", "raw"] == found["own", "all"] == (None, 0)


# --- stored tables -------------------------------------------------------------------------------

STORED = {
    "scores": (SCORES, ("encoder", "corpus", "part")),
    "matches": (MATCHES, ("corpus", "part")),
    "placed": (PLACED, ("encoder", "corpus", "part")),
    "samples": (SAMPLES, ("corpus", "part")),
    "heldout": (MANIFEST, ("corpus", "curated", "part")),
}


@pytest.mark.parametrize(
    ("sql", "views", "rows"),
    [
        ("parrot_fig1", ("scores", "matches"), 3),
        ("parrot_fig3", ("matches", "placed", "samples"), 0),
        ("parrot_fig4", ("matches", "placed", "samples", "scores"), 0),
        ("parrot_fig4_differences", ("scores",), 5),
        ("parrot_fig7", ("scores", "heldout"), 6),
    ],
)
def test_the_sql_uses_the_columns_of_the_stored_tables(tmp_path, sql, views, rows):
    files = {}
    for name in views:
        schema, labels = STORED[name]
        pq.write_table(schema.empty_table(), tmp_path / name)
        files[name] = [LabelledFile(tmp_path / name, dict.fromkeys(labels, "x"))]
    series = relation("series", SERIES)
    relations = {
        "models": relation("encoder", ["x"]),
        "selections": relation("selection", ["all"]),
        "kinds": KIND_ROWS,
        "series": series.append_column("curated", pa.array(["x"] * len(series))),
        "differences": relation("difference", DIFFERENCES),
    }

    parameters = {"tokenization": "words", "top": 5, "bins": 50, "title": "Web"}
    table = report_table(sql, files | relations, parameters)

    assert len(table) == rows
