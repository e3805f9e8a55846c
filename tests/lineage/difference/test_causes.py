import pytest
from tworuns import two_runs

from clipaudit.lineage.difference.causes import Causes
from clipaudit.lineage.difference.ingredient_changes import Cause
from clipaudit.store.code_records import CodeRecord, write_code

TABLE = "tables/t.json"


@pytest.fixture
def runs(tmp_path):
    a, b = two_runs(tmp_path)
    for run in (a, b):
        run.files = {"data/0.tar": b"0", "data/1.tar": b"1"}
    return a, b


def chain(run, *, shards=("data/0.tar", "data/1.tar"), train=None, **table):
    """Run index -> train -> table; the content of each output depends on its ingredients."""
    run.act("samples/s.json", step="index", inputs={"tars": shards})
    run.act("models/m.json", step="train", inputs={"samples": ["samples/s.json"]}, **train or {})
    run.act(TABLE, step="report_table", inputs={"models": ["models/m.json"]}, **table)


def causes(a, b, *tables):
    old, new = a.run().tables(), b.run().tables()
    return Causes(a.run(), b.run(), {path: (old[path], new[path]) for path in tables or [TABLE]})


def found(a, b):
    return [(cause.kind, cause.name) for cause in causes(a, b).causes]


def test_a_setting_is_named_with_both_values(runs):
    a, b = runs
    chain(a, train={"settings": {"recipe": {"epochs": 1, "seed": 0}}})
    chain(b, train={"settings": {"recipe": {"epochs": 2, "seed": 0}}})

    why = causes(a, b)

    assert why.causes == [Cause("settings", "recipe.epochs", "1", "2")]
    assert why.steps(why.causes[0]) == ["train"]
    assert why.of_table(TABLE) == (1,)


def test_a_shard_with_different_content_is_a_data_cause(runs):
    a, b = runs
    chain(a)
    b.files["data/1.tar"] = b"other"
    chain(b)

    (cause,) = causes(a, b).causes

    assert (cause.kind, cause.name) == ("data", "data/1.tar")
    assert cause.before != cause.after


def test_a_different_library_version_is_an_environment_cause(runs):
    a, b = runs
    chain(a, train={"environment": {"torch": "2.1", "device": "cpu"}})
    chain(b, train={"environment": {"torch": "2.2", "device": "cpu"}})

    assert causes(a, b).causes == [Cause("environment", "torch", "2.1", "2.2")]


def test_code_is_reported_by_module_where_both_digests_are_recorded(runs):
    a, b = runs
    same = {"script gap.py": "s"}
    write_code(a.store, "one", CodeRecord({**same, "module clipaudit.gap": "g"}, {}))
    write_code(a.store, "two", CodeRecord({**same, "module clipaudit.gap": "h"}, {}))
    chain(a, train={"code": "one"})
    chain(b, train={"code": "two"})

    assert causes(a, b).causes == [Cause("code", "module clipaudit.gap", "g", "h")]


def test_code_without_a_record_is_named_by_its_step(runs):
    a, b = runs
    chain(a, train={"code": "one"})
    chain(b, train={"code": "two"})

    assert found(a, b) == [("code", "of step train, its modules not recorded")]


def test_a_change_that_gives_the_same_content_is_not_a_cause(runs):
    a, b = runs
    chain(a, train={"code": "one", "gives": b"model"}, settings={"k": 1})
    chain(b, train={"code": "two", "gives": b"model"}, settings={"k": 2})

    assert found(a, b) == [("settings", "k")]


def test_a_shard_added_to_the_list_is_a_data_cause(runs):
    a, b = runs
    chain(a, shards=["data/0.tar"])
    chain(b)

    (cause,) = causes(a, b).causes

    assert (cause.kind, cause.name, cause.before) == ("data", "data/1.tar", None)


def test_a_new_part_of_new_shards_is_a_data_cause(runs):
    a, b = runs
    for run in runs:
        run.act("samples/0.json", step="index", inputs={"tars": ["data/0.tar"]})
    b.act("samples/1.json", step="index", inputs={"tars": ["data/1.tar"]})
    a.act(TABLE, step="report", inputs={"samples": ["samples/0.json"]})
    b.act(TABLE, step="report", inputs={"samples": ["samples/0.json", "samples/1.json"]})

    assert found(a, b) == [("data", "data/1.tar")]
    assert found(b, a) == [("data", "data/1.tar")]


def test_a_new_input_of_known_files_is_a_settings_cause(runs):
    a, b = runs
    for run in runs:
        run.act("samples/0.json", step="index", inputs={"tars": ["data/0.tar"]})
    b.act("models/m.json", step="train", inputs={"samples": ["samples/0.json"]})
    a.act(TABLE, step="report", inputs={"any": ["samples/0.json"]})
    b.act(TABLE, step="report", inputs={"any": ["samples/0.json", "models/m.json"]})

    assert causes(a, b).causes == [
        Cause("settings", "which files are input any", None, "models/m.json")
    ]


@pytest.mark.parametrize(("count", "text"), [(1, "s/0.json"), (4, "4 files")])
def test_a_known_input_in_place_of_others_is_named_and_of_many_their_number_is(runs, count, text):
    paths = [f"s/{number}.json" for number in range(count)]
    for run in runs:
        for path in [*paths, "models/m.json"]:
            run.act(path, step=path, inputs={"tars": ["data/0.tar"]})
        run.act("kept", step="keep", inputs={"any": [*paths, "models/m.json"]})
    runs[0].act(TABLE, step="report", inputs={"kept": ["kept"], "any": paths})
    runs[1].act(TABLE, step="report", inputs={"kept": ["kept"], "any": ["models/m.json"]})

    assert causes(*runs).causes == [
        Cause("settings", "which files are input any", text, "models/m.json")
    ]


def test_a_new_input_is_not_reported_beside_the_setting_that_adds_it(runs):
    a, b = runs
    for run in runs:
        run.act("samples/0.json", step="index", inputs={"tars": ["data/0.tar"]})
    b.act("models/m.json", step="train", inputs={"samples": ["samples/0.json"]})
    a.act(TABLE, settings={"grid": ["s"]}, inputs={"any": ["samples/0.json"]})
    b.act(TABLE, settings={"grid": ["s", "m"]}, inputs={"any": ["samples/0.json", "models/m.json"]})

    why = causes(a, b)

    assert why.causes == [Cause("settings", "grid", '["s"]', '["s", "m"]')]
    assert set(why.causes) == why.first


def test_causes_where_nothing_below_differs_come_first(runs):
    a, b = runs
    chain(a, settings={"k": 1})
    b.files["data/0.tar"] = b"other"
    chain(b, settings={"k": 2})

    why = causes(a, b)

    assert [cause.kind for cause in why.causes] == ["data", "settings"]
    assert [cause.kind for cause in why.first] == ["data"]


def test_different_bytes_from_the_same_action_are_not_reproduced(runs):
    a, b = runs
    chain(a, train={"gives": b"once"})
    chain(b, train={"gives": b"again"})

    assert found(a, b) == [("not reproduced", "models/m.json")]


def test_a_different_table_from_the_same_action_is_itself_not_reproduced(runs):
    a, b = runs
    chain(a, gives=[{"v": 1}])
    chain(b, gives=[{"v": 2}])

    assert found(a, b) == [("not reproduced", TABLE)]
    assert causes(a, b).of_row(TABLE, {"v": 2}) == (1,)


def test_the_walk_ends_at_a_missing_record_and_says_so(runs):
    a, b = runs
    chain(a, train={"settings": {"k": 1}})
    chain(b, train={"settings": {"k": 2}})
    key = a.run().at("models/m.json").placement.action
    for file in (a.store.root / "lineage" / key[:2] / key[2:]).iterdir():
        file.unlink()

    assert found(a, b) == [("not recorded", f"action {key}")]


def test_results_folders_with_different_names_are_compared(runs):
    a, b = runs
    chain(a, train={"settings": {"k": 1}})
    chain(b, train={"settings": {"k": 2}})
    b.results.rename(b.results.with_name("renamed"))
    b.results = b.results.with_name("renamed")

    assert found(a, b) == [("settings", "k")]


def by_testset(run, **changes):
    """Make a table of two test sets, each with its own predictions."""
    for name in ("val", "sketch"):
        settings = {"seed": changes.get(name, 0)}
        labels = {"testset": name}
        run.act(f"predictions/{name}.json", step=name, settings=settings, labels=labels)
    run.act(TABLE, inputs={"predictions": ["predictions/val.json", "predictions/sketch.json"]})


def test_a_cause_of_another_row_is_left_out(runs):
    a, b = runs
    by_testset(a)
    by_testset(b, val=1, sketch=2)

    why = causes(a, b)

    names = [cause.after for cause in why.causes]
    assert names == ["1", "2"]
    assert why.of_row(TABLE, {"testset": "val"}) == (1,)
    assert why.of_row(TABLE, {"testset": "sketch"}) == (2,)
    assert why.of_row(TABLE, {"testset": None}) == (1, 2)
    assert why.of_row(TABLE, {"model": "x"}) == (1, 2)


def test_a_row_that_no_label_matches_has_the_causes_of_its_table(runs):
    a, b = runs
    by_testset(a)
    by_testset(b, val=1)

    assert causes(a, b).of_row(TABLE, {"testset": "elsewhere"}) == (1,)


def test_tables_made_from_one_action_share_its_cause(runs):
    a, b = runs
    for run, seed in zip(runs, (0, 1), strict=True):
        run.act("models/m.json", step="train", settings={"seed": seed})
        for number in range(5):
            run.act(f"tables/{number}.json", inputs={str(number): ["models/m.json"]})

    why = causes(a, b, *(f"tables/{number}.json" for number in range(5)))

    assert [why.of_table(f"tables/{number}.json") for number in range(5)] == [(1,)] * 5


def test_a_long_chain_is_walked_to_the_end(runs):
    a, b = runs
    for run, seed in zip(runs, (0, 1), strict=True):
        run.act("stage/0.json", settings={"seed": seed})
        for number in range(1, 60):
            run.act(f"stage/{number}.json", inputs={"x": [f"stage/{number - 1}.json"]})
        run.act(TABLE, inputs={"x": ["stage/59.json"]})

    assert found(a, b) == [("settings", "seed")]
