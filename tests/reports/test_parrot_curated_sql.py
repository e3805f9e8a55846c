import numpy as np
import pyarrow as pa
import pytest

from clipaudit.evaluation.student import student_quantile
from clipaudit.reports.intervals import exact_interval
from clipaudit.reports.over_seeds import difference_over_seeds, mean_over_seeds
from clipaudit.reports.tables import PUBLISHED_SCHEMA, published_values, report_table

TEXT, INT, FLOAT, REAL = pa.string(), pa.int32(), pa.float32(), pa.float64()
TASKS = pa.schema([("encoder", TEXT), ("testset", TEXT), ("right_rank", INT)])
RANKS = pa.schema([("encoder", TEXT), ("corpus", TEXT), ("direction", TEXT), ("rank", INT)])
SUITE = pa.schema(
    [("encoder", TEXT), ("task", TEXT), ("metric", TEXT), ("value", REAL), ("main", pa.bool_())]
)
RESULTS = pa.schema([("encoder", TEXT), ("position", INT), ("track", TEXT), ("value", REAL)])
PROBES = pa.schema([("encoder", TEXT), ("gram", TEXT), ("style", TEXT), ("similarity", FLOAT)])
PROBES = pa.schema([*PROBES, ("mismatched", REAL), ("right", REAL), ("choices", pa.int64())])
CURVES = pa.schema(
    [("recipe", TEXT), ("manifest", TEXT), ("step", INT), ("epoch", INT), ("loss", REAL)]
)
KEPT = pa.schema([(name, TEXT) for name in ("corpus", "curated")])
KEPT = pa.schema([*KEPT, ("shard", INT), ("row", INT), ("kept", pa.bool_())])
SCORES = pa.schema([("corpus", TEXT), ("shard", INT), ("row", INT), ("raw", FLOAT)])


def view(schema, rows=()):
    return pa.Table.from_pylist(
        [dict(zip(schema.names, each, strict=True)) for each in rows], schema
    )


# --- the results of tasks ------------------------------------------------------------------------


@pytest.fixture
def task_results():
    def build(listed, *, tasks=(), ranks=(), suite=()):
        names = ("position", "task", "title", "track", "source")
        views = {
            "tasks": view(TASKS, [("own", *each) for each in tasks]),
            "pair_ranks": view(RANKS, [("own", *each) for each in ranks]),
            "suite": view(SUITE, [("own", *each) for each in suite]),
            "listed": pa.Table.from_pylist(
                [dict(zip(names, each, strict=True)) for each in listed]
            ),
        }
        return report_table("parrot_task_results", views, {}).to_pylist()

    return build


def test_the_number_of_a_zero_shot_task_is_its_accuracy(task_results):
    listed = [(0, "val", "Val", "imagenet", "zero-shot")]

    (row,) = task_results(listed, tasks=[("val", 0), ("val", 3), ("val", 0), ("val", 0)])

    assert (row["title"], row["track"], row["metric"]) == ("Val", "imagenet", "acc1")
    assert row["value"] == 0.75


def test_the_number_of_a_retrieval_task_is_the_mean_of_both_directions(task_results):
    ranks = [("album", "image to text", rank) for rank in (0, 1)]
    ranks += [("album", "text to image", rank) for rank in (0, 2, 5, 1)]

    (row,) = task_results([(0, "album", "Album", "retrieval", "retrieval")], ranks=ranks)

    assert (row["metric"], row["value"]) == ("mean_recall@1", (1 / 2 + 1 / 4) / 2)


def test_the_main_metric_of_a_suite_task_counts(task_results):
    suite = [("vtab/dtd", "acc1", 0.5, True), ("vtab/dtd", "acc5", None, False)]

    (row,) = task_results([(0, "vtab/dtd", "DTD", "vtab", "suite")], suite=suite)

    assert (row["metric"], row["value"]) == ("acc1", 0.5)


def test_tasks_with_the_same_name_are_distinguished_and_empty_ones_are_kept(task_results):
    listed = [
        (0, "objectnet", "Ours", "shifts", "zero-shot"),
        (1, "empty", "Empty", "shifts", "zero-shot"),
        (2, "objectnet", "Theirs", "shifts", "suite"),
    ]

    rows = task_results(listed, tasks=[("objectnet", 0)], suite=[("objectnet", "acc1", 0.25, True)])

    assert [row["value"] for row in rows] == [1.0, None, 0.25]


# --- sets of equal size --------------------------------------------------------------------------


def model_row(position, data, recipe, curated, *, members=None, in_grid=True, published=""):
    return {
        "position": position,
        "title": f"{data} / {recipe}",
        "data": data,
        "model": recipe,
        "recipe": recipe,
        "curated": curated,
        "members": members or curated,
        "encoder": f"{recipe}.{curated}",
        "epochs": 2,
        "in_grid": in_grid,
        "published_row": published,
    }


@pytest.fixture
def curated():
    """A function: two models of a set that keeps two of its samples; the second is not made."""

    def build(*, results=(), probes=(), curves=(), table="parrot_table4", published="", others=()):
        rows = [
            model_row(0, "3M RSA < 0.0", "RN50", "rsa", published=published),
            model_row(1, "3M RSA < 0.0", "other", "rsa", in_grid=False),
            *others,
        ]
        kept = [("web", "rsa", 0, 0, True), ("web", "rsa", 0, 1, False), ("web", "rsa", 1, 0, True)]
        scores = [("web", 0, 0, 0.25), ("web", 0, 1, 0.9), ("web", 1, 0, 0.5), ("other", 0, 0, 1.0)]
        views = {
            "rows": pa.Table.from_pylist(rows),
            "curated_rows": view(KEPT, kept),
            "scores": view(SCORES, scores),
            "task_results": view(RESULTS, results),
            "probes": view(PROBES, probes),
            "curves": view(CURVES, curves),
            "published": published_values(table),
        }
        return report_table("parrot_curated", views, {}).to_pylist()

    return build


def test_a_control_has_as_many_samples_as_its_set_but_not_its_score(curated):
    control = model_row(2, "3M RSA < 0.0, text erased", "RN50", "rsa.erased", members="rsa")

    *_, row = curated(others=[control], results=[("RN50.rsa.erased", 0, "imagenet", 0.5)])

    assert (row["samples"], row["avg_score"], row["imagenet"]) == (2, None, 0.5)


def test_the_mean_score_of_a_set_is_over_its_kept_samples(curated):
    row, _ = curated()

    assert (row["samples"], row["avg_score"]) == (2, 0.375)


def test_the_number_of_a_track_is_the_mean_of_its_tasks(curated):
    tracks = [("imagenet", 0.5), ("shifts", 0.25), ("retrieval", 1.0), ("retrieval", 0.5)]
    results = [("RN50.rsa", number, *each) for number, each in enumerate(tracks)]
    results.append(("RN50.rsa", 4, "others", None))

    row, _ = curated(results=results)

    assert (row["imagenet"], row["retrieval"]) == (0.5, 0.75)
    assert (row["average"], row["tasks"]) == (2.25 / 4, 4)


def test_the_synthetic_score_is_a_mean_over_words_and_styles(curated):
    similarities = {("a", "black"): 0.25, ("a", "white"): 0.5, ("b", "black"): 0.0}
    probes = [("RN50.rsa", *names, value, 0.0, 0.0, 2) for names, value in similarities.items()]

    row, _ = curated(probes=[*probes, ("elsewhere", "a", "black", 1.0, 0.0, 0.0, 2)])

    assert row["sync"] == 0.25


def test_own_less_other_words_has_students_interval_over_words(curated):
    values = {  # own and other words, and whether the own one is picked, in two styles each
        "a": [(0.5, 0.25, 1.0), (0.75, 0.25, 0.0)],
        "b": [(0.25, 0.25, 0.0), (0.25, 0.0, 0.0)],
        "c": [(0.5, 0.0, 1.0), (0.5, 0.5, 1.0)],
    }
    probes = [
        ("RN50.rsa", gram, style, *row, 3)
        for gram, rows in values.items()
        for style, row in zip("xy", rows, strict=True)
    ]

    row, _ = curated(probes=probes)

    by_word = np.array([0.375, 0.125, 0.25])
    margin = student_quantile(2) * by_word.std(ddof=1) / np.sqrt(3)
    assert (row["words"], row["mismatched"], row["reading"]) == (3, pytest.approx(1.25 / 6), 0.25)
    assert row["reading_low"] == pytest.approx(0.25 - margin)
    assert row["reading_high"] == pytest.approx(0.25 + margin)
    assert (row["right_word"], row["chance"]) == (0.5, pytest.approx(1 / 3))
    bounds = exact_interval(np.array([1.5]), np.array([3]))[0]
    assert (row["right_word_low"], row["right_word_high"]) == tuple(bounds)


def test_a_single_word_has_no_other_words_to_differ_from(curated):
    row, _ = curated(probes=[("RN50.rsa", "a", "x", 0.5, None, 1.0, 1)])

    assert (row["sync"], row["right_word"], row["chance"]) == (0.5, 1.0, 1.0)
    assert row["mismatched"] is row["reading"] is row["reading_low"] is None


def test_the_final_loss_is_from_the_last_epoch(curated):
    losses = [(0, 0, 8.0), (1, 0, 7.0), (2, 1, 4.0), (3, 1, 2.0)]

    row, _ = curated(curves=[("RN50", "rsa", *each) for each in losses])

    assert row["final_loss"] == 3.0


def test_a_model_outside_the_grid_has_no_numbers(curated):
    _, row = curated(results=[("RN50.rsa", 0, "imagenet", 0.5)])

    assert not row["in_grid"]
    numbers = ("samples", "avg_score", "imagenet", "average", "tasks", "sync", "final_loss")
    assert {row[name] for name in numbers} == {None}


def test_the_papers_numbers_are_next_to_a_row_of_its_corpus(curated):
    row, other = curated(published="3M RSA < 0.0 / RN50")

    names = ("avg_score", "imagenet", "retrieval", "average", "sync")
    paper = [row[f"published_{name}"] for name in names]
    assert paper == [0.319, 0.181, 0.220, 0.239, None]
    assert other["published_imagenet"] is None


# --- Table 8 -------------------------------------------------------------------------------------


@pytest.fixture
def table8():
    def build(results=(), probes=(), rows=()):
        models = [
            (0, "debiased / small", "small.debiased", "debiased", "Ours"),
            (1, "CLIP", "clip", "", "CLIP"),
        ]
        names = ("position", "title", "encoder", "manifest", "published_row")
        made_of = [{"manifest": "debiased", "corpus": "web", "pruning": "debiased"}]
        trained = pa.schema([("corpus", TEXT), ("pruning", TEXT), ("kept", pa.bool_())])
        views = {
            "models": pa.Table.from_pylist(
                [dict(zip(names, each, strict=True)) for each in models]
            ),
            "trained_on": pa.Table.from_pylist(made_of),
            "trained_rows": view(trained, rows),
            "task_results": view(RESULTS, results),
            "probes": view(PROBES, probes),
            "published": published_values("parrot_table8"),
        }
        return report_table("parrot_table8", views, {}).to_pylist()

    return build


def test_sample_counts_are_those_of_the_set_and_unknown_for_external_models(table8):
    ours, clip = table8(rows=[("web", "debiased", True), ("web", "debiased", False)])

    assert (ours["samples"], clip["samples"]) == (1, None)
    assert (ours["published_samples"], clip["published_samples"]) == (100_000_000, 400_000_000)


def test_the_synthetic_score_has_a_mean_and_a_standard_deviation(table8):
    values = {"a": 0.0, "b": 0.5, "c": 0.25}
    probes = [("clip", gram, "black", value, 0.125, 0.5, 3) for gram, value in values.items()]

    _, clip = table8(probes=probes)

    assert (clip["grams"], clip["sync_mean"], clip["sync_std"]) == (3, 0.25, 0.25)
    assert (clip["mismatched"], clip["reading"], clip["right_word"]) == (0.125, 0.125, 0.5)
    assert clip["reading_low"] < 0.125 < clip["reading_high"]
    assert (clip["published_sync_mean"], clip["published_sync_std"]) == (0.317, 0.305)


def test_every_track_has_a_number_in_table_8(table8):
    tracks = ("imagenet", "shifts", "vtab", "retrieval", "others")
    results = [("clip", position, track, position / 4) for position, track in enumerate(tracks)]

    ours, clip = table8(results=results)

    assert [clip[track] for track in tracks[:-1]] == [0.0, 0.25, 0.5, 0.75]
    assert (clip["average"], clip["tasks"], ours["average"]) == (0.5, 5, None)


# --- over seeds ----------------------------------------------------------------------------------


@pytest.fixture
def seeds():
    """A function: the evidence over three seeds whose models reach these accuracies on ImageNet."""

    def build(parrot, clean, images=40, probes=()):
        models, results, answers = [], [], []
        for position, pair in enumerate(zip(parrot, clean, strict=True)):
            for arm, value in zip(("parrot", "clean"), pair, strict=True):
                recipe = f"seed-{position}"
                encoder = f"{recipe}.{arm}"
                models.append({"position": position, "arm": arm, "recipe": recipe})
                models[-1] |= {"seed_title": recipe, "curated": arm, "encoder": encoder}
                models[-1] |= {"epochs": 1}
                results.append((encoder, 0, "imagenet", value))
                for row in range(images):
                    place = {"encoder": encoder, "testset": "val", "shard": 0, "row": row}
                    answers.append(place | {"right_rank": int(row >= value * images)})
        views = {
            "models": pa.Table.from_pylist(models),
            "task_results": view(RESULTS, results),
            "tasks": pa.Table.from_pylist(answers),
            "comparisons": pa.Table.from_pylist(
                [
                    {
                        "position": 0,
                        "arm": "parrot",
                        "against": "clean",
                        "title": "spoilt less clean",
                    },
                    {"position": 1, "arm": "parrot", "against": "", "title": "spoilt"},
                ]
            ),
            "probes": view(PROBES, probes),
            "curves": view(
                CURVES, [("seed-1", "parrot", 0, 0, 4.0), ("seed-1", "clean", 0, 0, 3.0)]
            ),
        }
        parameters = {"t": student_quantile(len(parrot) - 1), "imagenet": "val"}
        table = report_table("parrot_evidence", views, parameters).to_pylist()
        return {(row["against"], row["recipe"], row["measure"]): row for row in table}

    return build


def test_the_mean_difference_has_an_interval_over_seeds_and_images(seeds):
    row = seeds([0.25, 0.5, 0.0], [0.5, 1.0, 0.75])["clean", None, "imagenet"]

    assert (row["value"], row["against_value"], row["difference"]) == (0.25, 0.75, -0.5)
    right = np.arange(40)[:, None] < 40 * np.array([[0.25, 0.5, 0.0], [0.5, 1.0, 0.75]])[:, None]
    by_image = (right[0].astype(float) - right[1]).mean(axis=1)
    bounds = difference_over_seeds(
        np.array([-0.25, -0.5, -0.75]), float(by_image.var(ddof=1) / 40), 40
    )
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(bounds))


def test_agreeing_seeds_give_the_interval_over_images(seeds):
    row = seeds([0.5, 0.5], [0.75, 0.75])["clean", None, "imagenet"]

    assert row["difference_low"] < -0.3
    assert row["difference_high"] > -0.2


def test_the_interval_of_a_share_ends_at_0_and_that_of_a_difference_may_not(seeds):
    table = seeds([0.0, 0.05, 0.0], [0.0, 0.05, 0.05])

    assert table["", None, "imagenet"]["difference_low"] == 0
    assert table["clean", None, "imagenet"]["difference_low"] < 0


def test_seeds_that_agree_with_the_mean_are_counted(seeds):
    row = seeds([0.25, 0.5, 0.75], [0.5, 1.0, 0.5])["clean", None, "imagenet"]

    assert (row["same_sign"], row["seeds"]) == (2, 3)
    assert row["title"] == "spoilt less clean, mean over seeds"


def test_every_seed_is_listed_below_the_mean_in_order(seeds):
    table = seeds([0.25, 0.5, 0.0], [0.5, 1.0, 0.75])

    rows = [row for (*_, measure), row in table.items() if measure == "imagenet"]
    assert [row["position"] for row in rows] == list(range(8))
    assert [row["difference"] for row in rows[1:4]] == [-0.25, -0.5, -0.75]
    assert [row["difference"] for row in rows[5:]] == [0.25, 0.5, 0.0]
    assert rows[5]["title"] == "spoilt, seed-0"
    assert table["clean", "seed-1", "final_loss"]["difference"] == 1.0


def test_unmeasured_values_are_null_over_seeds(seeds):
    row = seeds([0.25, 0.5], [0.5, 1.0])["clean", None, "sync"]

    assert (row["seeds"], row["same_sign"]) == (0, 0)
    assert row["difference"] is row["difference_low"] is None


WORDS = {  # own word, other words, own word is picked: of two words under two seeds
    "seed-0.parrot": [(0.75, 0.25, 1.0), (0.5, 0.25, 0.0)],
    "seed-0.clean": [(0.5, 0.5, 0.0), (0.5, 0.25, 1.0)],
    "seed-1.parrot": [(1.0, 0.25, 1.0), (0.5, 0.0, 1.0)],
    "seed-1.clean": [(0.5, 0.25, 0.0), (0.25, 0.25, 0.0)],
}


@pytest.fixture
def reading(seeds):
    probes = [
        (encoder, gram, "x", *row, 2)
        for encoder, rows in WORDS.items()
        for gram, row in zip("ab", rows, strict=True)
    ]
    return seeds([0.5, 0.5], [0.5, 0.5], probes=probes)


@pytest.mark.parametrize(
    ("against", "by_seed", "by_word"),
    [("", [0.375, 0.625], [0.625, 0.375]), ("clean", [0.25, 0.5], [0.5, 0.25])],
)
def test_own_less_other_words_has_an_interval_over_seeds_and_words(
    reading, against, by_seed, by_word
):
    row = reading[against, None, "reading"]

    bounds = mean_over_seeds(np.array(by_seed), np.var(by_word, ddof=1) / 2, 2)
    assert row["difference"] == np.mean(by_seed)
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(bounds))
    assert (row["seeds"], row["same_sign"]) == (2, 2)


def test_the_right_word_is_next_to_chance(reading):
    alone, pair = (reading[against, None, "right_word"] for against in ("", "clean"))

    assert (alone["difference"], alone["chance"], alone["against_value"]) == (0.75, 0.5, None)
    assert (pair["value"], pair["against_value"], pair["difference"]) == (0.75, 0.25, 0.5)
    assert reading["", None, "sync"]["chance"] is None


# --- the suite -----------------------------------------------------------------------------------


def test_every_task_of_the_suite_is_evaluated_or_skipped_with_a_reason():
    names = ("position", "task", "title", "track", "reason")
    tasks = [(0, "dtd", "DTD", "VTAB", ""), (1, "geode", "GeoDE", "Others", "other code")]
    views = {
        "listed": pa.Table.from_pylist([dict(zip(names, each, strict=True)) for each in tasks]),
        "models": pa.table({"position": [0, 1], "encoder": ["b", "a"], "title": ["B", "A"]}),
        "suite": view(SUITE, [("a", "dtd", "acc1", 0.5, True), ("a", "dtd", "acc5", 1.0, False)]),
    }

    rows = report_table("parrot_suite", views, {}).to_pylist()

    assert [(row["task"], row["encoder"]) for row in rows] == [
        (task, encoder) for task in ("dtd", "geode") for encoder in "ba"
    ]
    assert [row["value"] for row in rows] == [None, 0.5, None, None]
    assert (rows[1]["status"], rows[1]["reason"]) == ("evaluated", None)
    assert (rows[2]["status"], rows[2]["reason"]) == ("skipped", "other code")


def test_a_task_whose_data_are_too_small_is_left_out_and_not_evaluated():
    listed = [{"position": 0, "task": "dtd", "title": "DTD", "track": "VTAB", "reason": ""}]
    views = {
        "listed": pa.Table.from_pylist(listed),
        "models": pa.table({"position": [0, 1], "encoder": ["b", "a"], "title": ["B", "A"]}),
        "suite": view(SUITE, [("a", "dtd", "acc1", 0.0, True)]),  # nothing of b
    }

    rows = report_table("parrot_suite", views, {}).to_pylist()

    assert [row["status"] for row in rows] == ["left out", "evaluated"]
    assert [row["reason"] for row in rows] == [None, None]


# --- the paper's numbers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "count"), [(2, 36), (3, 30), (4, 40), (5, 40), (8, 40), (10, 24), (11, 30), (12, 40)]
)
def test_every_number_of_the_papers_trained_models_appears_once(table, count):
    rows = published_values(f"parrot_table{table}").to_pylist()

    assert len(rows) == len({(row["row"], row["measure"]) for row in rows}) == count
    assert {row["testset"] for row in rows} == {""}


def test_the_repeated_table_13_is_omitted():
    assert published_values("parrot_table13") == PUBLISHED_SCHEMA.empty_table()
