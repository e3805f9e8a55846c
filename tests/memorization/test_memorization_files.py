from pathlib import Path
from types import SimpleNamespace

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.memorization.points import DEFAULT
from clipaudit.memorization.wiring import MemorizationFiles
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.models import ModelFiles

DEMO = Path(__file__).parents[2] / "config/demo.yaml"


@pytest.fixture
def files():
    run = parse_settings(read_settings(DEMO))
    return MemorizationFiles(run.memorization, ModelFiles(CorpusFiles(run)))


def test_a_point_reads_the_recalls_of_both_its_models(files):
    public = files.audit.publics[0]

    found = files.point_inputs(SimpleNamespace(point=DEFAULT, public=public))

    models = {name: found[f"recalls_{name}"][0].split("/")[2] for name in ("a", "b")}
    assert models == {name: files.points[DEFAULT].encoder(name) for name in ("a", "b")}


def test_the_hold_out_is_attacked_by_the_manifests_of_its_sources(files):
    found = files.point_inputs(SimpleNamespace(point=DEFAULT, public=files.audit.publics[0]))

    with_holdout = [source for source, sets in files.sets.items() if "set-holdout" in sets]
    assert [path.split("/")[2] for path in found["kept_holdout"]] == with_holdout


def test_sets_have_one_manifest_at_their_whole_size(files):
    names = {path.split("/")[3] for path in files.set_manifests()}

    assert names == {"set-a", "set-b", "set-public", "set-holdout"}


def test_a_detector_of_the_hub_names_no_files(files):
    assert files.detector_files() == []
