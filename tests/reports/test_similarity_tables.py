"""What the tables of the similarity audit ask for, given the settings."""

import pytest

from clipaudit.config.loading import parse_settings
from clipaudit.errors import ConfigError
from clipaudit.similarity.reports.accuracies import in_grid
from clipaudit.similarity.reports.tables import similarity_tables


@pytest.fixture
def tables(settings):
    """A function: the tables, with some settings of the audit replaced."""

    def build(**changes):
        settings["similarity"] |= changes
        return similarity_tables(parse_settings(settings))

    return build


def datasets(table):
    return [row["dataset"] for row in table.relations["rows"]]


def test_table_1_has_the_papers_rows_in_its_order(tables):
    pruned = ["val", "sketch", "a", "r", "v2", "objectnet", "combined"]

    assert datasets(tables()["similarity_table1"]) == [
        *("OpenAI", "L-400M, open_clip's", "L-200M", "L-200M + IN-Train"),
        *(f"{name}-pruned" for name in pruned),
    ]


def test_table_4_ends_with_classifiers(tables):
    rows = tables()["similarity_table4"].relations["rows"]

    assert [row["dataset"] for row in rows[1:3]] == ["L-400M, open_clip's", "L-200M"]
    assert [(row["dataset"], row["recipe"], row["manifest"]) for row in rows[-2:]] == [
        ("ResNet-101", "classifier", "resnet101"),
        ("IN-Train (resnet18)", "resnet18", "imagenet-train"),
    ]
    baselines = {row["baseline"] for row in rows if row["indent"]}
    assert baselines == {"laion-deduplicated"}


def test_without_deduplication_a_row_is_unchanged(tables):
    changes = {"deduplication": None, "core_set": None, "grid": None}

    both = tables(**changes)
    alone = tables(**changes, with_small=[True])

    assert datasets(both["similarity_table1"])[2:4] == ["L-400M", "L-400M + IN-Train"]
    assert datasets(both["similarity_table4"])[2:4] == ["L-400M", "val-pruned"]
    assert datasets(alone["similarity_table1"])[2] == "L-400M + IN-Train"
    assert "similarity_table4" not in alone


def test_a_model_of_the_whole_large_set_is_trained_where_no_released_one_is_named(tables):
    found = tables(large_model=None)

    for name in ("similarity_table1", "similarity_table3", "similarity_table4"):
        assert datasets(found[name])[:3] == ["OpenAI", "L-400M", "L-200M"]
    assert "predictions/paper/laion/v2.json" in found["similarity_table1"].inputs["predictions"]
    asked = tables(large_model="laion-b32")["similarity_table1"].inputs["predictions"]
    assert not any(path.startswith("predictions/paper/laion/") for path in asked)


def test_table_3_has_rows_matching_the_paper(tables):
    assert datasets(tables()["similarity_table3"])[1:] == [
        *("L-400M, open_clip's", "L-200M", "all-far-pruned (L-400M)", "all-far-pruned (L-200M)"),
        *("sketch-far-pruned (L-200M)", "val-far-pruned (L-200M)", "SemDeDup (L-400M)"),
    ]


def test_models_outside_the_grid_are_shown_but_not_requested(tables):
    table = tables(grid=["laion-deduplicated"])["similarity_table4"]

    shown = {row["dataset"]: row["in_grid"] for row in table.relations["rows"]}
    assert [name for name, is_in in shown.items() if is_in] == [
        *("OpenAI", "L-400M, open_clip's", "L-200M", "ResNet-101"),
    ]
    models = {path.rpartition("/")[0] for path in table.inputs["predictions"]}
    assert models == {
        *("predictions/pretrained/openai", "predictions/pretrained/laion-b32"),
        *("predictions/paper/laion-deduplicated", "predictions/classifier/resnet101"),
    }
    prunings = {path.split("/")[2] for path in table.inputs["manifest_rows"]}
    assert {"deduplicated", "deduplicated.sketch-pruned", "all"} <= prunings


def test_an_empty_grid_requests_no_predictions(tables):
    found = tables(grid=[], pretrained=[], large_model=None, classifiers=[])

    assert found["similarity_table1"].inputs["predictions"] == []
    assert found["similarity_table3"].inputs["predictions"] == []
    assert found["similarity_robustness"].relations["rows"] == []


def test_models_of_encoders_and_of_the_evidence_exist_for_any_grid(settings):
    settings["encoders"]["b16-plus"] = {"model": "paper/laion"}
    evidence = {"pruning": "sketch", "reference": "val"}
    settings["similarity"] |= {"grid": [], "seeds": 2, "evidence": evidence}
    run = parse_settings(settings)

    there = [
        manifest for manifest in run.manifests() if in_grid(run, run.similarity, "paper", manifest)
    ]

    with_small = "laion-deduplicated-and-imagenet-train"
    assert sorted(there) == [
        "laion",
        f"{with_small}.random-as-sketch",
        f"{with_small}.sketch-pruned",
    ]


def test_classifiers_are_requested_only_for_test_sets_with_their_classes(settings):
    settings["label_sets"]["digits"] = {"classes": "data/digits.txt"}
    settings["corpora"]["v2"] = {**settings["corpora"]["v2"], "labels": "digits"}

    table = similarity_tables(parse_settings(settings))["similarity_table4"]

    asked = [path.split("/")[1:] for path in table.inputs["predictions"]]
    assert ["classifier", "resnet101", "val.json"] in asked
    assert ["classifier", "resnet101", "v2.json"] not in asked
    assert ["paper", "laion-deduplicated", "v2.json"] in asked


def test_evidence_compares_manifests_of_the_run(settings):
    evidence = {"pruning": "sketch", "reference": "val", "removed": 0.25}
    settings["similarity"] |= {"seeds": 2, "evidence": evidence}
    run = parse_settings(settings)

    found = similarity_tables(run)

    arms = found["similarity_evidence"].relations["arms"]
    orders = found["similarity_evidence_orders"].relations["arms"]
    assert {arm["manifest"] for arm in [*arms, *orders]} <= set(run.manifests())
    assert [arm["manifest"].partition(".")[2] for arm in orders[:3]] == [
        *("sketch-near-25pct", "rand-25pct", "sketch-far-25pct"),
    ]


def test_table_6_covers_the_sets_before_pruning(tables):
    table = tables()["similarity_table6"]

    assert table.parameters["large_title"] == "L-200M"
    assert {row["pruning"] for row in table.relations["members"]} == {
        f"deduplicated.{name}-pruned" for name in ("val", "sketch", "a", "r", "v2", "objectnet")
    }
    assert {path.split("/")[2] for path in table.inputs["similarities"]} == {
        *("laion", "imagenet-train"),
    }


def test_table_7_searches_the_deduplicated_set_if_it_exists(tables):
    assert tables()["similarity_table7"].inputs["kept_neighbors"] == [
        "kept_neighbors/b16-plus/deduplicated/laion.json"
    ]
    whole = tables(deduplication=None, core_set=None)["similarity_table7"]
    assert whole.inputs["kept_neighbors"] == []
    assert [row["search"] for row in whole.relations["train_sets"]] == ["all"]


def test_the_gap_check_covers_every_pruning_and_its_test_sets(tables):
    table = tables()["similarity_gap_check"]

    pairs = [(row["search"], row["testset"]) for row in table.relations["searches"]]
    assert pairs[:2] == [("val-pruned", "val"), ("sketch-pruned", "sketch")]
    assert len([search for search, _ in pairs if search == "combined-pruned"]) == 6
    assert len(table.inputs["kept_neighbors"]) == 7


def test_the_chosen_threshold_is_among_those_of_the_sweep(tables):
    table = tables()["similarity_deduplication"]

    assert table.parameters["chosen"] == 0.876
    assert table.parameters["thresholds"] == [
        0.5,
        0.6,
        0.7,
        0.8,
        0.85,
        0.876,
        0.9,
        0.95,
        0.97,
        0.99,
    ]
    assert len(table.inputs["duplicates"]) == 100


def test_robustness_compares_each_clip_model_once(tables):
    table = tables(robustness={"reference": "val", "points": [{"val": 0.5, "sketch": 0.1}]})[
        "similarity_robustness"
    ]

    rows = table.relations["rows"]
    models = [(row["recipe"], row["manifest"]) for row in rows]
    assert len(models) == len(set(models)) == 18
    assert "sketch-pruned of L-200M + IN-Train" in datasets(table)
    assert "sketch-pruned of L-200M" in datasets(table)
    assert table.relations["line_points"] == [
        {"model": "point 1", "testset": "val", "accuracy": 0.5},
        {"model": "point 1", "testset": "sketch", "accuracy": 0.1},
    ]


def test_the_robustness_line_avoids_models_of_sets_pruned_towards_a_test_set(tables):
    table = tables()["similarity_robustness"]

    on_line = [tuple(row.values()) for row in table.relations["line_models"]]
    assert on_line == [
        ("classifier", "resnet101"),
        ("resnet18", "imagenet-train"),
        *(("resnet18", f"imagenet-train.rand-{part}pct") for part in (25, 50, 75)),
    ]
    assert "predictions/classifier/resnet101/sketch.json" in table.inputs["predictions"]


def test_the_robustness_line_goes_through_the_named_models(tables):
    chosen = ["imagenet-train", "imagenet-train.sketch-near-50pct"]

    table = tables(robustness={"reference": "val", "models": chosen})["similarity_robustness"]

    assert [row["manifest"] for row in table.relations["line_models"]] == chosen
    none = tables(robustness={"reference": "val", "models": []})["similarity_robustness"]
    assert none.relations["line_models"] == []


def test_a_robustness_line_through_an_unknown_model_is_refused(tables):
    with pytest.raises(ConfigError, match=r"robustness\.models: 'laion' is not among classifiers"):
        tables(robustness={"reference": "val", "models": ["laion"]})


def test_disabled_sections_have_no_table(tables):
    off = ("core_set", "robustness")

    found = tables(**dict.fromkeys(off), deduplication=None, other_encoders=[])

    assert list(found) == [
        "similarity_encoders",
        "similarity_gap_check",
        *(f"similarity_table{number}" for number in (1, 2, 4, 6, 7)),
    ]


def test_every_other_encoder_is_compared_on_the_set_before_pruning(tables):
    table = tables(other_encoders=["l14", "openai"], compare_prunings=True)["similarity_table5"]

    names = ("b16-plus", "l14", "openai")
    assert table.inputs["neighbors"] == [f"neighbors/{name}/imagenet-train.json" for name in names]
    assert {path.split("/")[1] for path in table.inputs["similarities"]} == set(names)
    assert {path.split("/")[2] for path in table.inputs["drops"]} == set(names)
    assert table.inputs["manifest_rows"][0].startswith("manifests/laion/deduplicated/")
    assert [row["title"] for row in table.relations["others"]] == [
        "ViT-B/16+ and ViT-L/14",
        "ViT-B/16+ and OpenAI",
    ]


def test_without_prunings_to_compare_the_large_set_is_not_embedded_again(tables):
    table = tables(other_encoders=["l14"], compare_prunings=False)["similarity_table5"]

    assert [name for name, files in table.inputs.items() if files] == ["neighbors"]


def test_an_encoder_that_is_named_twice_is_refused(tables):
    with pytest.raises(ConfigError, match="other_encoders: b16-plus named twice among encoder and"):
        tables(other_encoders=["l14", "b16-plus"])
