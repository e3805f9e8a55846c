import pytest

from clipaudit.errors import InputError, StoreError
from clipaudit.steps.step import Step
from clipaudit.store.gathered import spread, write_list
from clipaudit.store.store import Pointer


def pointer(folder, name, digest="a"):
    path = folder / name
    path.write_text(Pointer(digest * 64, 1, 2, "x").to_json())
    return str(path)


def test_a_list_stands_for_the_pointers_that_it_names_in_order(tmp_path):
    named = [pointer(tmp_path, "b c.json"), pointer(tmp_path, "a.json")]
    path = tmp_path / "gathered" / "all.list"

    write_list(path, named)

    assert list(spread(["x.tar", str(path), "y.tar"], tmp_path)) == ["x.tar", *named, "y.tar"]


def test_a_users_file_is_no_list_whatever_its_name(tmp_path):
    assert list(spread(["words/one.list"], tmp_path)) == ["words/one.list"]


def test_a_list_changes_with_the_content_of_its_pointers(tmp_path):
    path = tmp_path / "all.list"
    write_list(path, [pointer(tmp_path, "a.json")])
    before = path.read_text()

    write_list(path, [pointer(tmp_path, "a.json", digest="b")])

    assert path.read_text() != before


def test_an_empty_list_expands_to_nothing(tmp_path):
    path = tmp_path / "gathered/all.list"
    write_list(path, [])

    assert list(spread([str(path)], tmp_path)) == []


def test_a_list_with_a_missing_pointer_is_not_written(tmp_path):
    with pytest.raises(StoreError, match="no such pointer"):
        write_list(tmp_path / "all.list", [str(tmp_path / "gone.json")])

    assert not (tmp_path / "all.list").exists()


def test_a_file_that_is_not_a_list_is_named(tmp_path):
    path = tmp_path / "gathered/all.list"
    path.parent.mkdir()
    path.write_text("nonsense\n")

    with pytest.raises(InputError, match=f"{path}: not a list of pointers"):
        list(spread([str(path)], tmp_path))


# --- in a step -----------------------------------------------------------------------------------


class Job:
    """The job that Snakemake passes to a script."""

    rule, threads, resources = "keep_all", 1, {}

    def __init__(self, folder, part="", members=()):
        self.params = type("Params", (dict,), {"code": "0" * 64})(part=part)
        self.config = {"results": str(folder / "results"), "store": str(folder / "store")}
        self.output = {"made": str(folder / f"results/stage/{part}.json")}
        self.input, self.wildcards = {"members": members}, {"part": part}


def made_part(folder, part):
    job = Job(folder, part)
    Step(job).run(lambda step: step.write_bytes("made", part.encode(), ".bin"))
    return job.output["made"]


def test_a_step_reads_a_list_as_if_its_rule_named_all_pointers(tmp_path):
    parts = [made_part(tmp_path, part) for part in ("b", "a")]
    path = tmp_path / "results/gathered/stage.list"
    write_list(path, parts)

    by_list, by_name = (Step(Job(tmp_path, "", names)) for names in ([str(path)], parts))

    assert by_list.key == by_name.key
    assert by_list.ingredients == by_name.ingredients
    assert [file.read_text() for file in by_list.files("members")] == ["b", "a"]
