"""Controls of a curated set, and repacked sets, in a run: their content and their results."""

import json
import shutil

import numpy as np
import pytest
from microproject import Project, read
from parrotworld import SETTINGS, members

from clipaudit.corpora.sealed import Sealed
from clipaudit.corpora.shards import raw_samples

SET = "cotr-0.2-8"
TARGET = "results_micro/tables/parrot_table3.json results_micro/sealed/random-8.json"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]


@pytest.fixture(scope="module")
def controlled(parroted_whole, tmp_path_factory):
    """Return a copy of the finished project with controls, whose sets are all repacked."""
    project = Project(tmp_path_factory.mktemp("controls") / "project")
    shutil.copytree(parroted_whole.folder, project.folder, symlinks=True)
    asked = "    controls: [erased, swapped]\n    repack: always\n    heldout: 2\n"
    project.edit(SETTINGS, "    heldout: 2\n", asked)
    project.run(config=SETTINGS, target=TARGET)
    return project


def samples(project, name):
    """Return the samples of a repacked set by their address in the corpus, read from its shards."""
    shards = sorted((project.results / f"repacked/{name}.shards").glob("*.tar"))
    found = [raw for shard in shards for raw in raw_samples(shard)]
    return {tuple(map(int, raw.key.split("-"))): raw.members for raw in found}


@pytest.mark.parametrize("name", [SET, f"{SET}.erased", f"{SET}.swapped", "random-8"])
def test_a_repacked_set_holds_the_samples_of_its_manifest(controlled, name):
    sealed = Sealed(controlled.results / f"sealed/{name}.sealed")

    of = name.removesuffix(".erased").removesuffix(".swapped")
    assert samples(controlled, name).keys() == members(controlled, of)
    assert sealed.kept == 8


def test_controls_change_only_the_text_of_images_or_the_captions(controlled):
    plain, erased, swapped = (samples(controlled, SET + end) for end in ("", ".erased", ".swapped"))

    for address, sample in plain.items():
        assert erased[address]["txt"] == sample["txt"] != swapped[address]["txt"]
        assert erased[address]["png"] != sample["png"] == swapped[address]["png"]
    captions = [[each["txt"] for each in found.values()] for found in (plain, swapped)]
    assert sorted(captions[0]) == sorted(captions[1])


def test_controls_are_rows_beside_their_set(controlled):
    rows = read(controlled, "tables/parrot_table3").filter("in_grid")

    assert list(rows["curated"]) == [SET, f"{SET}.erased", f"{SET}.swapped"]
    assert list(rows["samples"]) == [8, 8, 8]
    assert np.isfinite(rows.select("average", "sync", "final_loss").to_numpy()).all()
    assert np.isfinite(rows["avg_score"].to_numpy()).tolist() == [True, False, False]


def test_a_training_run_reads_only_the_shards_of_its_set(controlled):
    sealed = Sealed(controlled.results / f"sealed/{SET}.sealed")
    pointers = (controlled.results / f"repacked/{SET}.shards").glob("*.json")

    digests = sorted(json.loads(path.read_text())["digest"] for path in pointers)
    assert sorted(shard.sha256 for shard in sealed) == digests


def test_nothing_is_repacked_again(controlled):
    before = controlled.computed()

    shutil.rmtree(controlled.results / "repacked")
    shutil.rmtree(controlled.results / "sealed")
    controlled.run(config=SETTINGS, target=TARGET)

    assert "repack" not in controlled.computed_steps(before)
