import json

import pytest

from clipaudit.lineage.planning.dimensions import UNKNOWN, dimension_of


def settings(**model):
    return {"model": {"encoder": {}, "architecture": None, **model}}


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        ({"open_clip": None, "definition": {"embed_dim": 64}}, 64),
        ({"open_clip": "ViT-B-16-plus-240", "definition": None}, 640),
        ({"open_clip": "of tomorrow", "definition": None}, UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_the_architecture_gives_the_dimension(architecture, expected):
    assert dimension_of(settings(architecture=architecture)) == expected


def test_a_folder_with_a_config_gives_the_dimension(tmp_path):
    config = {"model_cfg": {"embed_dim": 32}}
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config))

    assert dimension_of(settings(encoder={"directory": str(tmp_path)})) == 32


def test_a_step_without_a_model_has_no_dimension():
    assert dimension_of({"shards": [1]}) == UNKNOWN
