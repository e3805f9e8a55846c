"""The output of `clipaudit diff` for real runs with one change."""

import io
import json
import tarfile

import pytest

DIFF = "from clipaudit.cli.diff import diff; diff()"
PIN = "from clipaudit.cli.pin import pin; pin()"
SHARD = "data/micro/large/00001.tar"
FOLDERS = ("--store", "store_micro", "--results", "results_micro")


@pytest.fixture
def pinned(project):
    """Return a finished project, pinned as `before`."""
    project.python("-c", PIN, "before", *FOLDERS)
    return project


def differences(project, *arguments):
    return json.loads(
        project.python("-c", DIFF, "before", *FOLDERS, "--format", "json", *arguments)
    )


def write_captions(project, captions):
    """Change captions of a shard, by member name."""
    path, copy = project.folder / SHARD, io.BytesIO()
    with tarfile.open(path) as old, tarfile.open(fileobj=copy, mode="w") as new:
        for member in old:
            content = captions.get(member.name, old.extractfile(member).read())
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))
    path.write_bytes(copy.getvalue())


def test_a_changed_setting_is_the_only_cause_and_explains_each_cell(pinned):
    pinned.edit("config/micro.yaml", "sweep: [0.9999, 0.999999]", "sweep: [0.999, 0.999999]")
    pinned.run(target="results_micro/tables/similarity_deduplication.json")

    found = differences(pinned, "--attribute")

    (cause,) = found["causes"]
    assert (cause["kind"], cause["name"]) == ("settings", "parameters.thresholds")
    assert cause["after"] == "[0.999, 0.999999, 0.9999997]"
    cells = [cell for row in found["tables"][0]["rows"] for cell in row["cells"]]
    assert cells
    assert all(list(cell["alone"].values()) == [cell["after"]] for cell in cells)


@pytest.mark.long
def test_a_changed_caption_is_a_data_cause_with_the_path_of_its_shard(pinned):
    """The bytes are not text, so the sample is dropped from the counts and nothing is trained."""
    write_captions(pinned, {"000003.txt": b"\xff\xfe"})
    pinned.run(target="results_micro/tables/similarity_deduplication.json")

    found = differences(pinned)

    (cause,) = found["causes"]
    assert (cause["kind"], cause["name"], cause["first"]) == ("data", SHARD, True)
    assert [table["table"] for table in found["tables"]] == ["similarity_deduplication"]


@pytest.mark.slow
def test_changed_captions_reach_the_models_that_were_trained_on_them(project):
    """Accuracies of models as small as these are at chance, cosines of their embeddings differ."""
    target = "results_micro/tables/similarity_encoders.json"
    project.edit("config/micro.yaml", "own: {model: brief/small}", "own: {model: brief/large}")
    project.run(target=target)
    project.python("-c", PIN, "before", *FOLDERS)
    names = ("000000.txt", "000001.txt", "000003.txt", "000008.txt")
    write_captions(project, dict.fromkeys(names, b"the sea"))
    project.run(target=target)

    found = differences(project, "--attribute")

    assert [(cause["kind"], cause["name"]) for cause in found["causes"]] == [("data", SHARD)]
    (table,) = found["tables"]
    assert table["table"] == "similarity_encoders"
    assert table["rows"]
    assert all(cell["left_over"] in (0, None) for row in table["rows"] for cell in row["cells"])
