"""Sets of a second corpus, by settings that extend the first ones and share their store."""

import json

import pytest

CURATIONS = {"corpus": "notices", "sizes": [2], "heldout": 1, "grid": ["brief/random-2"]}
READ = {"index", "spot", "match"}


@pytest.fixture(scope="module")
def planned(parroted, tmp_path_factory):
    file = tmp_path_factory.mktemp("notices") / "notices.yaml"
    own = {"extends": "config/micro_parrot.yaml", "results": "results_notices"}
    file.write_text(json.dumps({**own, "parrot": {"curations": CURATIONS, "evidence": None}}))
    text = parroted.clipaudit("plan", "all_tables", "--configfile", str(file), "--format", "json")
    return json.loads(text)["jobs"]


def test_nothing_that_the_first_settings_computed_is_computed_again(planned):
    profiled = [job for job in planned if job["wildcards"].get("corpus") in ("posters", "notices")]
    read = [job for job in profiled if job["rule"] in READ]

    assert {job["rule"] for job in read} == READ
    assert [job for job in read if job["fate"] not in {"stored", "current"}] == []


def test_the_sets_are_of_the_other_corpus(planned):
    cut = [job for job in planned if job["rule"] == "cut_curation"]

    assert {job["wildcards"]["corpus"] for job in cut} == {"notices"}
    assert {job["fate"] for job in cut} <= {"certain", "possible"}
