import json

import pytest
from handmaderun import HandmadeRun

from clipaudit.lineage.graph import table_graph

SQL = "select sum(n) as total from numbers"


@pytest.fixture
def run(tmp_path, monkeypatch):
    run = HandmadeRun(tmp_path, monkeypatch)
    tars = [run.shard("data/0.tar")]
    numbers = run.act(
        "count", {"n.json": ({"corpus": "a"}, [{"n": 1}])}, {"tars": tars}, by={"k": 2}
    )
    run.report("sums", SQL, {"numbers": numbers})
    run.report("again", SQL, {"numbers": numbers})
    return run


def graph(run, *names):
    return table_graph(run.results, run.store, [run.results / f"tables/{n}.json" for n in names])


def test_the_graph_has_every_action_below_all_tables_once(run):
    found = graph(run, "sums", "again")

    assert list(found["tables"]) == ["tables/sums.json", "tables/again.json"]
    assert sorted(each["step"] for each in found["actions"].values()) == [
        "count",
        "report_table",
        "report_table",
    ]


def test_inputs_lead_to_their_makers_and_user_files_to_none(run):
    found = graph(run, "sums")

    (numbers,) = found["actions"][found["tables"]["tables/sums.json"]]["inputs"]["numbers"]
    counted = found["actions"][numbers["action"]]
    assert numbers["labels"] == {"corpus": "a"}
    assert counted["settings"] == {"by.k": 2}
    (tar,) = counted["inputs"]["tars"]
    assert (tar["path"], tar["labels"], tar["action"]) == ("data/0.tar", {}, None)


def test_the_graph_has_the_sql_of_a_table_by_its_action(run):
    found = graph(run, "sums")

    assert found["sql"] == {found["tables"]["tables/sums.json"]: SQL}
    assert list(found["origins"].values()) == ["recorded when it ran"]


def test_the_graph_is_plain_data(run):
    found = graph(run, "sums", "again")

    assert json.loads(json.dumps(found)) == found


def test_no_tables_give_an_empty_graph(run):
    assert graph(run) == {"tables": {}, "actions": {}, "sql": {}, "origins": {}}
