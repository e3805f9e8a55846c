import json
import shutil

import pytest
from handmadecatalog import whole_run_made
from handmaderun import HandmadeRun

from clipaudit.errors import InputError
from clipaudit.lineage.why.answer import why

SQL = "select corpus, avg(score) as mean from scores group by corpus order by corpus"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return two corpora with a shard and a file of scores each; `means` is made from both."""
    run = HandmadeRun(tmp_path, monkeypatch)
    files = [
        run.act(
            "score",
            {f"scores/{corpus}.json": ({"corpus": corpus}, [{"score": score}])},
            {"tars": [run.shard(f"data/{corpus}.tar")]},
            recipe={"seed": 0, "start": None},
        )[0]
        for corpus, score in (("a", 0.25), ("b", 0.75))
    ]
    run.report("means", SQL, {"scores": files})
    return run


def answer(run, *question, **options):
    return why(run.results, run.store, "means", *question, seconds=20, **options)


def test_the_answer_is_the_same_after_a_round_trip_through_json(run):
    found = answer(run, "corpus = 'a'", "mean")

    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_edges_lead_from_the_table_to_a_shard(run):
    found = answer(run, "corpus = 'a'", "mean")

    (scores,) = [edge for edge in found["edges"] if edge["to"] == found["table"]["action"]]
    (tars,) = [edge for edge in found["edges"] if edge["to"] == scores["from"]]
    assert (tars["input"], tars["path"], tars["from"]) == ("tars", "data/a.tar", None)
    assert len(found["actions"]) == 2


def test_a_table_that_the_last_whole_run_did_not_make_has_a_note(run):
    whole_run_made(run.results, "means")
    assert answer(run)["notes"] == []

    whole_run_made(run.results)
    [note] = answer(run)["notes"]
    assert note.endswith("perhaps of earlier settings: means.")


def test_an_action_is_shown_with_settings_and_circumstances(run):
    found = answer(run, "corpus = 'a'", "mean")

    (scored,) = [node for node in found["actions"].values() if node["step"] == "score"]
    assert (scored["code"], scored["settings"]) == ("code of score", {"recipe.seed": 0})
    assert (scored["seconds"], scored["environment"]) == (1.5, {"torch": "2"})
    assert scored["inputs"] == {"tars": {"files": 1, "of_files": 1}}


def test_the_cell_and_its_sql_are_reported(run):
    found = answer(run, "corpus = 'a'", "mean")

    assert found["rows"] == [{"corpus": "a", "mean": 0.25}]
    assert found["sql"] == {"name": "means", "text": SQL, "origin": "recorded when it ran"}


def test_code_is_shown_if_requested(run):
    found = answer(run, None, None, modules=True)

    assert found["code"] == {"code of report_table": {"m": "d"}, "code of score": None}


def test_the_tree_is_followed_by_labels_without_objects(run):
    shutil.rmtree(run.store.root / "objects")

    found = answer(run, "corpus = 'a' and mean > 0.1", "mean")

    assert (found["rows"], found["count"], found["parts"]) == ([], None, None)
    assert found["notes"][0].startswith("The objects are not here, so no rows are shown")
    assert {edge["path"] for edge in found["edges"] if not edge["from"]} == {"data/a.tar"}


def test_a_lost_input_keeps_the_tree_and_a_note_gives_the_reason(run):
    for path in (run.results / "scores").glob("*.parquet"):
        path.resolve().unlink()

    found = answer(run, "corpus = 'a'", "mean")

    assert "cannot be read" in found["notes"][0]
    assert "the object is missing" in found["notes"][0]
    assert len(found["actions"]) == 2


def test_sql_that_changed_since_is_not_run(run):
    run.write_sql("means", "select 'a' as corpus, 0.25 as mean")

    found = answer(run, "corpus = 'a'", "mean")

    assert found["sql"]["text"] == SQL
    assert found["notes"][0].startswith("means.sql was changed since")


def test_comments_and_spacing_are_not_a_change(run):
    run.write_sql("means", f"-- a remark\n  {SQL}\n")

    assert answer(run, "corpus = 'a'", "mean")["verified"]


def test_code_that_now_gives_other_values_is_reported(run):
    shutil.rmtree(run.store.root / "lineage" / "code")  # a store that did not record its SQL
    run.write_sql("means", SQL.replace("avg", "2 * avg"))

    found = answer(run, "corpus = 'a'", "mean")

    assert (found["verified"], found["parts"]) == (False, None)
    assert found["sql"]["origin"].endswith("the SQL that ran was not recorded")
    assert found["notes"][0].startswith("The installed clipaudit gives other values")


def test_a_table_not_made_by_sql_has_its_tree(run):
    run.act("gallery", {"figures/g.json": ({}, [{"x": 1}])}, {"tars": [run.shard("data/a.tar")]})

    found = why(run.results, run.store, "g")

    assert (found["sql"], found["verified"]) == (None, None)
    assert found["notes"][0].startswith("No SQL made this table")
    assert [edge["path"] for edge in found["edges"]] == ["data/a.tar"]


def test_an_output_that_is_not_a_table_has_its_tree(run):
    run.act("train", {"models/m.json": ({}, "weights")}, {"tars": [run.shard("data/a.tar")]})

    found = why(run.results, run.store, str(run.results / "models/m.json"))

    assert (found["rows"], found["notes"], len(found["edges"])) == ([], [], 1)


def test_an_output_that_is_not_a_table_has_no_rows_to_choose(run):
    run.act("train", {"models/m.json": ({}, "weights")})

    with pytest.raises(InputError, match=r"m\.json: not a table, so it has no rows to choose from"):
        why(run.results, run.store, str(run.results / "models/m.json"), "true")


def test_inputs_of_many_rows_are_not_distinguished(run):
    (file,) = run.act("n", {"n.json": ({}, [{"n": n} for n in range(30)])})
    run.report("many", "select n from numbers order by n", {"numbers": [file]})

    found = why(run.results, run.store, "many")

    assert (len(found["rows"]), found["count"]) == (20, 30)
    assert found["notes"] == ["30 rows are chosen; inputs are traced for at most 20 rows."]


def test_an_empty_table_has_its_tree(run):
    (file,) = run.act("n", {"n.json": ({}, [{"n": 1}])})
    run.report("none", "select n from numbers where n > 1", {"numbers": [file]})

    found = why(run.results, run.store, "none")

    assert (found["rows"], found["count"], len(found["edges"])) == ([], 0, 1)
