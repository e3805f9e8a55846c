"""What the tables of trained models ask for, given the settings, and how they print."""

import subprocess
import sys
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.errors import InputError
from clipaudit.evaluation.suite_tasks import RETRIEVAL, TASKS
from clipaudit.parrot.curated import _FILTERS
from clipaudit.parrot.reports.answer import _PROBED
from clipaudit.parrot.reports.curated import curated_tables
from clipaudit.parrot.reports.layouts import LAYOUTS
from clipaudit.parrot.reports.tasks import suite_tasks, task_result_table
from clipaudit.reports.layouts import Layout
from clipaudit.reports.tables import published_values
from clipaudit.steps.reportfiles import report_file

MICRO = Path(__file__).parents[2] / "config/micro_parrot.yaml"


@pytest.fixture
def run():
    """A function: a small run, with some settings of the audit or of its curations replaced."""

    def build(*, title=None, curations=MappingProxyType({}), **changes):
        settings = read_settings(MICRO)
        settings["corpora"]["posters"]["title"] = title
        settings["architectures"]["RN50"] = settings["architectures"]["atom"]
        settings["recipes"]["large"] = settings["recipes"]["brief"] | {"architecture": "RN50"}
        settings["encoders"]["clip"] = {
            "architecture": "atom",
            "pretrained": "clip.safetensors",
            "title": "CLIP",
        }
        own = settings["parrot"].pop("curations")
        settings["parrot"] |= changes
        settings["parrot"]["curations"] = None if curations is None else own | dict(curations)
        return parse_settings(settings)

    return build


@pytest.fixture
def suite(tmp_path):
    """The folder of a suite that has two of the tasks."""
    for name in ("vtab/dtd", "mnist"):
        tmp_path.joinpath(name).mkdir(parents=True)
    return {"folder": str(tmp_path)}


def titles(table):
    return [row["title"] for row in table.relations["rows"]]


def test_every_table_has_its_sql_and_its_layout(run, suite):
    found = curated_tables(run(suite=suite))

    assert all(report_file("sql", f"{table.sql}.sql").is_file() for table in found.values())
    assert found.keys() <= LAYOUTS.keys()


def test_without_curations_only_inspected_models_are_compared(run):
    nothing = dict.fromkeys(["curations", "evidence", "deduplication"])
    found = curated_tables(run(**nothing))

    assert list(found) == ["parrot_table8"]
    assert found["parrot_table8"].inputs["task_results"] == ["task_results/own.json"]


def test_without_the_audit_there_are_no_tables_and_no_tasks():
    plain = parse_settings(read_settings(MICRO.parent / "micro.yaml"))

    assert curated_tables(plain) == {}
    assert suite_tasks(plain) == {}


def test_a_single_size_gives_no_tables_of_the_largest_size(run):
    found = curated_tables(run(curations={"sizes": [8], "grid": None, "rsc": []}))

    assert "parrot_table4" in found
    assert found.keys().isdisjoint({f"parrot_table{number}" for number in (5, 11, 12, 13)})


def test_rows_are_sorted_by_size_and_then_by_model(run):
    table = curated_tables(run(curations={"recipes": ["brief", "large"]}))["parrot_table2"]

    sets = ("random", "w/o emb. text", "w/ emb. text only")
    assert titles(table) == [
        f"{size} {name} / {model}"
        for size in (8, 10)
        for model in ("atom", "RN50")
        for name in sets
    ]


def test_recipes_of_one_architecture_keep_their_names(run):
    table = curated_tables(run(curations={"recipes": ["brief", "brief-1"]}))["parrot_table2"]

    assert titles(table)[2:4] == ["8 w/ emb. text only / brief", "8 random / brief-1"]


def test_only_models_of_the_grid_and_of_the_evidence_are_read(run):
    table = curated_tables(run())["parrot_table2"]

    trained = ["random-8", "without-text-8", "with-text-8", "with-text-10"]
    assert [row["curated"] for row in table.relations["rows"] if row["in_grid"]] == trained
    assert table.inputs["curves"] == [f"curves/brief/{name}.json" for name in trained]
    assert table.inputs["probes"][0] == "probes/brief.random-8/posters/captions-1.json"
    parts = [f"manifests/posters/random-8/{part}.json" for part in ("00000", "00001")]
    assert table.inputs["curated_rows"][:2] == parts


def test_tables_3_and_11_have_the_smallest_and_the_largest_size(run):
    found = curated_tables(run())

    sizes = {
        name: {row["curated"].rpartition("-")[2] for row in found[name].relations["rows"]}
        for name in ("parrot_table3", "parrot_table11")
    }
    assert sizes == {"parrot_table3": {"8"}, "parrot_table11": {"10"}}


@pytest.mark.parametrize("number", [2, 3, 4, 5, 10, 11, 12])
def test_a_run_of_the_papers_size_matches_all_rows_of_the_paper(run, number):
    name = f"parrot_table{number}"
    title = "CC12M" if number == 10 else "LAION-2B"
    asked = {
        "sizes": [3_000_000, 12_000_000],
        "rates": [0.3, 0.5, 0.8, 1.0],
        "rsa": [0.0, 0.1, 0.2, 0.3],
        "rsc": [0.0, 0.1, 0.2, 0.3],
        "recipes": ["large"],
        "grid": None,
    }

    table = curated_tables(run(title=title, curations=asked, evidence=None))[name]

    paper = {row for row in published_values(name)["row"].to_pylist() if row.endswith("/ RN50")}
    assert {row["published_row"] for row in table.relations["rows"]} == paper


def test_the_papers_rsa_of_0_is_next_to_both_possible_sets(run):
    asked = {"sizes": [3_000_000], "rsa": [0.0], "recipes": ["large"], "textless_rsa": True}

    table = curated_tables(run(title="LAION-2B", curations=asked | {"grid": None}, evidence=None))

    rows = table["parrot_table4"].relations["rows"]
    assert {row["data"]: row["published_row"] for row in rows} == {
        "3M RSA < 0.0": "3M RSA < 0.0 / RN50",
        "3M RSA ≥ 0.0": "3M RSA ≥ 0.0 / RN50",
        "3M RSA ≥ 0.0 or no text": "3M RSA ≥ 0.0 / RN50",
    }


def test_the_caption_of_rsa_does_not_presuppose_two_sets_of_rsa_0():
    assert "both rows" not in LAYOUTS["parrot_table4"].caption


def test_a_recipe_per_size_keeps_the_papers_numbers_next_to_its_models(run):
    recipes = {"brief": "ViT-B", "brief-1": "RN50"}
    asked = {"sizes": [3_000_000], "recipes": list(recipes), "published_models": recipes}

    tables = curated_tables(run(title="LAION-2B", curations={**asked, "grid": None}, evidence=None))

    rows = tables["parrot_table2"].relations["rows"]
    assert {row["recipe"]: row["published_row"] for row in rows if "random" in row["curated"]} == {
        "brief": "3M random / ViT-B",
        "brief-1": "3M random / RN50",
    }
    models = tables["parrot_table8"].relations["models"]
    assert [row["published_row"] for row in models[:2]] == ["Ours", ""]


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({}, "Duplicates are removed from the debiased subset."),
        ({"deduplication": None}, "Duplicates are not removed from the debiased subset"),
        ({"deduplication": None, "curations": {"debiased": None, "grid": None}}, "no debiased"),
        ({"deduplication": None, "curations": None, "evidence": None}, "no debiased"),
    ],
)
def test_table_8_says_whether_the_debiased_subset_has_duplicates(run, changes, note):
    table = curated_tables(run(**changes))["parrot_table8"]

    assert note in " ".join(table.notes)
    assert "repetition" not in LAYOUTS["parrot_table8"].caption


def test_table_8_has_the_debiased_subsets_own_model(run):
    asked = {"debiased": {"recipes": ["brief-1"]}, "grid": None}

    models = curated_tables(run(curations=asked))["parrot_table8"].relations["models"]

    assert [(row["encoder"], row["title"]) for row in models if row["manifest"] == "debiased"] == [
        ("brief-1.debiased", "debiased / brief-1")
    ]


def test_every_model_of_a_set_is_in_a_table_that_the_answer_reads(run):
    tables = curated_tables(run(curations={"filters": ["score"], "grid": None}))

    models = {
        name: {row["encoder"] for row in table.relations["rows"]}
        for name, table in tables.items()
        if table.sql == "parrot_curated"
    }
    assert models.keys() - set(_PROBED) == {"parrot_table10"}
    assert models["parrot_table10"] <= models["parrot_table2"]


def test_filters_are_next_to_random_sets_of_the_same_size(run):
    asked = {"filters": ["masked", "score"], "grid": None}

    rows = curated_tables(run(curations=asked))["parrot_filters"].relations["rows"]

    names = ["random", "without-text", "top-masked", "top-score"]
    assert [row["curated"] for row in rows] == [f"{n}-{size}" for size in (8, 10) for n in names]
    assert {row["published_row"] for row in rows} == {""}
    assert "parrot_filters" not in curated_tables(run())


@pytest.mark.parametrize("title", [filtered.title for filtered in _FILTERS.values()])
def test_the_caption_explains_every_filter(title):
    assert f"{title}: " in LAYOUTS["parrot_filters"].caption.lower()


def test_a_size_has_only_rows_of_its_own_recipes(run):
    asked = {"recipes": ["brief"], "recipes_of_size": {10: ["large"]}, "grid": None}

    rows = curated_tables(run(curations=asked, evidence=None))["parrot_table2"].relations["rows"]

    assert {(row["curated"].rpartition("-")[2], row["recipe"]) for row in rows} == {
        ("8", "brief"),
        ("10", "large"),
    }


def test_other_corpora_do_not_match_the_papers_rows(run):
    table = curated_tables(run(title="CC12M"))["parrot_table2"]

    assert {row["published_row"] for row in table.relations["rows"]} == {""}


def test_table_8_lists_the_debiased_models_first(run):
    table = curated_tables(run(title="LAION-2B", encoders=["clip"]))["parrot_table8"]

    models = table.relations["models"]
    assert [row["title"] for row in models] == ["debiased / atom", "own", "CLIP"]
    assert [row["manifest"] for row in models] == ["debiased", "posters", ""]
    assert [row["published_row"] for row in models] == ["", "own", "CLIP"]  # no ViT-B
    assert "manifests/posters/all/00001.json" in table.inputs["trained_rows"]


def test_the_evidence_pairs_the_arms_of_every_seed(run):
    table = curated_tables(run())["parrot_evidence"]

    assert [(row["position"], row["encoder"]) for row in table.relations["models"]] == [
        (0, "brief.with-text-8"),
        (0, "brief.without-text-8"),
        (1, "brief-1.with-text-8"),
        (1, "brief-1.without-text-8"),
    ]
    assert [row["title"] for row in table.relations["comparisons"]] == [
        "8 w/ emb. text only less 8 w/o emb. text",
        "8 w/ emb. text only",
        "8 w/o emb. text",
    ]
    assert table.parameters["t"] == pytest.approx(12.7062)


def test_images_of_a_test_set_that_the_suite_replaces_give_no_interval(run, tmp_path):
    tmp_path.joinpath("imagenet1k").mkdir()
    (own,) = run().parrot.test_sets

    tables = [
        curated_tables(run(suite=each))["parrot_evidence"]
        for each in (None, {"folder": str(tmp_path)})
    ]

    assert [table.parameters["imagenet"] for table in tables] == [own, ""]
    assert [bool(table.inputs["tasks"]) for table in tables] == [True, False]


def test_the_controls_of_the_parroting_set_are_arms_of_the_evidence(run):
    asked = {"controls": ["erased", "swapped"], "rates": [0.2]}
    parrot = {"recipes": ["brief", "brief-1"], "parrot": "cotr-0.2-8", "clean": "without-text-8"}

    table = curated_tables(run(curations=asked, evidence=parrot))["parrot_evidence"]

    pairs = [(row["arm"], row["against"]) for row in table.relations["comparisons"]]
    arms = ["parrot", "erased", "swapped", "clean"]
    assert pairs == [*(("parrot", arm) for arm in arms[1:]), *((arm, "") for arm in arms)]
    assert {row["curated"] for row in table.relations["models"]} == {
        "cotr-0.2-8",
        "cotr-0.2-8.erased",
        "cotr-0.2-8.swapped",
        "without-text-8",
    }


@pytest.mark.parametrize(
    ("parrot", "clean"),
    [("cotr-0.2-8", "cotr-0.2-8.erased"), ("cotr-0.2-8.erased", "without-text-8")],
)
def test_a_control_that_is_named_as_an_arm_is_no_further_arm(run, parrot, clean):
    asked = {"recipes": ["brief", "brief-1"], "parrot": parrot, "clean": clean}

    table = curated_tables(run(curations={"controls": ["erased"]}, evidence=asked))

    rows = table["parrot_evidence"].relations["comparisons"]
    pairs = [("parrot", "clean"), ("parrot", ""), ("clean", "")]
    assert [(row["arm"], row["against"]) for row in rows] == pairs


# --- tasks ---------------------------------------------------------------------------------------


def test_tasks_of_the_suite_have_names_for_files(run, suite):
    found = suite_tasks(run(suite=suite))

    assert list(found) == ["vtab-dtd", "mnist"]
    assert found["vtab-dtd"] == ("vtab/dtd", f"{suite['folder']}/vtab/dtd")


def test_all_tasks_of_a_model_are_listed_in_order(run, suite):
    table = task_result_table(run(suite=suite), "own")

    assert table.inputs == {
        "tasks": ["tasks/own/val.json"],
        "pair_ranks": ["pair_ranks/own/album.json"],
        "suite": ["suite/own/vtab-dtd.json", "suite/own/mnist.json"],
    }
    listed = [(row["task"], row["track"], row["source"]) for row in table.relations["listed"]]
    assert listed == [
        ("val", "imagenet", "zero-shot"),
        ("album", "retrieval", "retrieval"),
        ("vtab/dtd", "vtab", "suite"),
        ("mnist", "others", "suite"),
    ]


@pytest.mark.parametrize("task", ["imagenet1k", "flickr30k"])
def test_a_task_of_the_suite_counts_once(run, suite, task):
    (Path(suite["folder"]) / task).mkdir()
    table = task_result_table(run(suite=suite), "own")

    tracks = [(row["track"], row["source"]) for row in table.relations["listed"]]
    own = {"imagenet1k": ("imagenet", "zero-shot"), "flickr30k": ("retrieval", "retrieval")}
    assert own[task] not in tracks
    assert (own[task][0], "suite") in tracks
    assert table.inputs["tasks" if task == "imagenet1k" else "pair_ranks"] == []


def test_the_suites_table_names_every_skipped_task(run, suite):
    table = curated_tables(run(suite=suite))["parrot_suite"]

    reasons = {row["task"]: row["reason"] for row in table.relations["listed"]}
    assert len(reasons) == len(TASKS)
    assert [task for task, reason in reasons.items() if not reason] == ["vtab/dtd", "mnist"]
    assert reasons["stl10"] == "no folder stl10"
    assert "suite/brief.random-8/mnist.json" in table.inputs["suite"]


@pytest.mark.parametrize("table", ["parrot_table2", "parrot_table8", "parrot_filters"])
def test_captions_name_the_retrieval_task_without_a_recall(table):
    (other,) = (each for each in TASKS if each.track == "Retrieval" and each.main != RETRIEVAL)

    assert other.title in LAYOUTS[table].caption


def test_a_missing_folder_of_the_suite_is_reported(run):
    with pytest.raises(InputError, match="nowhere: no such folder"):
        suite_tasks(run(suite={"folder": "nowhere"}))


def test_without_tasks_no_results_are_read(run):
    found = curated_tables(run(test_sets=[], retrieval=[], probe={"lengths": [2]}))

    read = [
        table.inputs.get(view) for table in found.values() for view in ("task_results", "probes")
    ]
    assert read
    assert not any(read)


def test_planning_loads_neither_torch_nor_scipy():
    code = (
        "import sys, clipaudit.parrot.reports.curated; "
        "sys.exit(any(name in sys.modules for name in ('torch', 'scipy', 'matplotlib')))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- print ---------------------------------------------------------------------------------------


@pytest.fixture
def printed():
    """A function: the cells of a row of a listing, by their headings, and its name."""

    def build(name, row):
        layout = LAYOUTS[name]
        return layout.name(row), {head: cell(row) for head, cell in layout.fields.items()}

    return build


READING = ("reading", "right_word")


@pytest.fixture
def model():
    names = ("samples", "avg_score", "imagenet", "retrieval", "average", "sync")
    row = dict.fromkeys([*names, *(f"published_{name}" for name in names), "final_loss", "tasks"])
    row |= dict.fromkeys(["mismatched", "chance"])
    row |= dict.fromkeys(f"{name}{end}" for name in READING for end in ("", "_low", "_high"))
    return row | {"title": "8 random / atom", "in_grid": True}


def test_the_papers_number_is_in_brackets(printed, model):
    row = model | {"imagenet": 0.25, "published_imagenet": 0.193, "average": 0.5, "tasks": 3}

    _, cells = printed("parrot_table2", row)

    assert (cells["IN"], cells["Ret."]) == ("0.250 (0.193)", "\N{EN DASH}")
    assert cells["Avg."] == "0.500, n = 3"


def test_the_papers_columns_come_first(printed, model):
    reading = ["Other word", "Difference", "Right word, %", "Chance, %"]
    own = ["IN", "Ret.", "Avg.", "Sync. S", *reading, "Samples", "Final loss"]

    assert list(printed("parrot_table3", model)[1]) == own
    assert list(printed("parrot_table4", model)[1]) == ["Avg. S", *own]


def test_a_model_outside_the_grid_is_marked(printed, model):
    name, cells = printed("parrot_table5", model | {"in_grid": False})

    assert name == "8 random / atom, not trained"
    assert set(cells.values()) == {"\N{EN DASH}"}


@pytest.mark.parametrize("name", ["parrot_table2", "parrot_table8"])
def test_sync_is_next_to_the_measures_that_distinguish_reading(printed, model, name):
    row = model | dict.fromkeys(["sync_mean", "sync_std", "shifts", "vtab"])
    row |= dict.fromkeys(f"published_{each}" for each in list(row))
    row |= {"mismatched": 0.4, "reading": 0.06, "reading_low": -0.01, "reading_high": 0.13}
    row |= {"right_word": 0.05, "right_word_low": 0.01, "right_word_high": 0.2, "chance": 1 / 35}

    _, cells = printed(name, row)

    assert (cells["Other word"], cells["Chance, %"]) == ("0.400", "2.9")
    assert cells["Difference"] == "+0.060 [\u22120.010, +0.130]"
    assert cells["Right word, %"] == "5.0 [1.0, 20.0]"


def test_evidence_prints_differences_with_their_sign():
    row = {"difference": -0.5, "difference_low": -1.0, "difference_high": 0.0, "seeds": 3}
    row |= {"same_sign": 2, "value": 0.25, "against_value": 0.75, "against": "clean"}
    row |= {"chance": None}

    cells = [line.body(row) for line in LAYOUTS["parrot_evidence"].lines]

    assert cells == ["\u22120.500", "[\u22121.000, 0.000]", "2 of 3", "0.250", "0.750", ""]


def test_a_skipped_task_prints_its_reason():
    row = {"track": "Others", "reason": "other code"}

    assert LAYOUTS["parrot_suite"].row_note(row) == " (Others), skipped: other code"
    assert LAYOUTS["parrot_suite"].row_note(row | {"reason": None}) == " (Others)"


@pytest.mark.parametrize(
    "name", [name for name, layout in LAYOUTS.items() if isinstance(layout, Layout)]
)
def test_every_line_below_a_row_of_trained_models_is_named(name):
    first, *others = LAYOUTS[name].lines

    assert first.name == ""
    assert all(line.name for line in others)


@pytest.mark.parametrize("name", ["parrot_table2", "parrot_table8", "parrot_suite"])
def test_relations_have_columns_of_one_type(run, suite, name):
    relations = curated_tables(run(suite=suite))[name].relations

    for rows in relations.values():
        assert pa.null() not in pa.Table.from_pylist(list(rows)).schema.types


@pytest.mark.parametrize("name", ["parrot_table2", "parrot_table8"])
def test_tables_say_that_nothing_shows_reading_if_no_words_are_probed(run, name):
    probed, unprobed = (
        curated_tables(run(probe={"side": 64, "type_size": 12, "most": 40, "lengths": lengths}))
        for lengths in ([1, 2], [2])
    )

    assert "not probed with single words" not in " ".join(probed[name].notes)
    assert "not probed with single words" in unprobed[name].notes[-1]
