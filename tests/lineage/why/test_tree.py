import pytest
from handmaderun import RAN, HandmadeRun

from clipaudit.errors import StoreError
from clipaudit.lineage.why.tree import concerned, tree_below
from clipaudit.store.actions import ActionInput, ActionOutput, Ingredients
from clipaudit.store.placements import placement
from clipaudit.store.records import Record, read_record
from clipaudit.store.store import Pointer


@pytest.fixture
def run(tmp_path, monkeypatch):
    return HandmadeRun(tmp_path, monkeypatch)


def indexed(run, corpus, parts):
    """Return parts of a corpus, each made from its own shard."""
    made = []
    for part in range(parts):
        labels = {"corpus": corpus, "part": f"{part:05}"}
        outputs = {f"samples/{corpus}/{part}.json": (labels, f"{corpus} {part}")}
        tars = [run.shard(f"data/{corpus}/{part:05}.tar")]
        made += run.act("index", outputs, {"tars": tars}, shards=[part])
    return made


def grown(run, pointer, *, fold=True):
    root = read_record(run.store, placement(run.results, run.results / pointer).action)
    return tree_below(run.results, run.store, root, root.ingredients.inputs, fold=fold)


def steps(tree):
    return sorted(record.ingredients.step for record in tree.records.values())


def test_the_tree_goes_down_to_the_users_files(run):
    run.act("report", {"tables/t.json": ({}, "t")}, {"samples": indexed(run, "a", 1)})

    tree = grown(run, "tables/t.json")

    (index,) = [key for key in tree.records if key != tree.root]
    (tars,) = tree.branches[index]
    assert [(each.file.path, each.action) for each in tars.bundles] == [("data/a/00000.tar", None)]


def test_the_first_of_files_that_differ_only_in_numbers_stands_for_all(run):
    files = [*indexed(run, "a", 4), *indexed(run, "b", 2)]
    run.act("report", {"tables/t.json": ({}, "t")}, {"samples": files})

    tree = grown(run, "tables/t.json")

    (samples,) = tree.branches[tree.root]
    assert (samples.files, [len(each.more) for each in samples.bundles]) == (6, [3, 1])
    assert samples.bundles[0].more[-1].path.endswith("samples/a/3.json")


def test_records_of_folded_files_are_not_read(run):
    files = indexed(run, "a", 4)
    run.act("report", {"tables/t.json": ({}, "t")}, {"samples": files})
    for file in files[1:]:
        for record in (run.store.root / "lineage" / file.action[:2] / file.action[2:]).iterdir():
            record.unlink()

    assert steps(grown(run, "tables/t.json")) == ["index", "report"]


def test_every_file_is_reported_without_folding(run):
    run.act("report", {"tables/t.json": ({}, "t")}, {"samples": indexed(run, "a", 4)})

    assert steps(grown(run, "tables/t.json", fold=False)) == [*["index"] * 4, "report"]


def test_numbers_in_user_file_names_are_folded(run):
    tars = [run.shard(f"data/{corpus}/{n:05}.tar") for corpus in "ab" for n in range(3)]
    run.act("report", {"tables/t.json": ({}, "t")}, {"tars": tars})

    ((branch,),) = grown(run, "tables/t.json").branches.values()

    assert [each.file.path for each in branch.bundles] == ["data/a/00000.tar", "data/b/00000.tar"]


def test_an_input_that_contributed_nothing_to_a_kept_file_is_left_out(run):
    one, other = indexed(run, "a", 1) + indexed(run, "b", 1)
    run.act("report", {"tables/t.json": ({}, "t")}, {"samples": [one, other]})
    root = read_record(run.store, placement(run.results, run.results / "tables/t.json").action)

    tree = tree_below(run.results, run.store, root, {"samples": [one]}, fold=True)

    assert set(tree.records) == {root.action, one.action}
    assert [(b.files, b.of_files) for b in tree.branches[root.action]] == [(1, 2)]


def evaluated(run):
    """Return the outputs of one action: predictions for two test sets."""
    files = [*indexed(run, "val", 1), *indexed(run, "sketch", 1)]
    outputs = {f"p/{name}.json": ({"testset": name}, name) for name in ("val", "sketch")}
    (weights,) = run.act("train", {"models/m.json": ({"manifest": "m"}, "weights")})
    return run.act("evaluate", outputs, {"samples": files, "weights": [weights]})


def test_only_the_outputs_in_use_of_an_action_count(run):
    val, _ = evaluated(run)
    run.act("report", {"tables/t.json": ({}, "t")}, {"predictions": [val]})

    tree = grown(run, "tables/t.json")

    samples, weights = tree.branches[val.action]
    assert [each.file.labels["corpus"] for each in samples.bundles] == ["val"]
    assert (weights.files, weights.of_files) == (1, 1)


def test_an_output_that_is_reached_later_counts_too(run):
    val, sketch = evaluated(run)
    (between,) = run.act("summary", {"s.json": ({}, "s")}, {"predictions": [sketch]})
    run.act("report", {"tables/t.json": ({}, "t")}, {"first": [val], "then": [between]})

    tree = grown(run, "tables/t.json")

    samples, _ = tree.branches[val.action]
    assert samples.files == 2
    assert steps(tree).count("index") == 2


def test_inputs_count_if_nothing_distinguishes_them():
    outputs = {
        name: ActionOutput(Pointer("d", 0, 0, "x"), ".x", {"testset": name}) for name in "ab"
    }
    files = [ActionInput("1", "x", {"corpus": "c"}), ActionInput("2", "y", {"corpus": "a"})]
    record = Record("k", Ingredients("s", "c", {}, {"files": files}, {}), outputs, {}, RAN)

    found = concerned(record, [ActionInput("d", "a.json", {"testset": "a"})])

    assert found["files"] == files


def test_a_missing_record_is_an_error(run):
    (file,) = indexed(run, "a", 1)
    run.act("report", {"tables/t.json": ({}, "t")}, {"samples": [file]})
    for record in (run.store.root / "lineage" / file.action[:2] / file.action[2:]).iterdir():
        record.unlink()

    with pytest.raises(StoreError, match=f"no lineage record of action {file.action}"):
        grown(run, "tables/t.json")
