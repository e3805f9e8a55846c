"""Settings that name plug-ins, read without importing any."""

from pathlib import Path

import pytest
from examplepackage import install, register

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.errors import ConfigError


@pytest.fixture
def micro(tmp_path, monkeypatch):
    """Return a function: the micro world's settings with a plug-in as an encoder."""
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path)

    def settings(changes=None, **encoder):
        content = read_settings(Path(__file__).parents[2] / "config/micro.yaml")
        content["encoders"]["colours"] = encoder or {"plugin": "colours"}
        content["similarity"] |= changes or {"encoder": "colours"}
        return content

    return settings


def test_an_encoder_can_be_a_plugin(micro):
    run = parse_settings(micro(plugin="colours", options={"bins": 3}))

    assert run.encoders["colours"].options == {"bins": 3}


def test_an_unknown_plugin_is_answered_with_the_choices_and_how_to_install(micro):
    with pytest.raises(ConfigError, match=r"encoders\.colours\.plugin: 'clours' .*colours.* pip"):
        parse_settings(micro(plugin="clours"))


def test_a_plugin_takes_no_precision(micro):
    with pytest.raises(ConfigError, match=r"`plugin` takes no `precision`; give .* as `options`"):
        parse_settings(micro(plugin="colours", precision="amp_bf16"))


def test_an_encoder_of_images_is_refused_where_texts_are_embedded(micro):
    with pytest.raises(ConfigError, match=r"similarity\.pretrained: colours .* only images"):
        parse_settings(micro({"pretrained": ["colours"]}))


def test_two_distributions_with_one_name_are_refused(micro, tmp_path):
    points = {"clipaudit.encoders": {"colours": "other:Other"}}
    register(tmp_path, name="othertools", version="2.0", **{"entry-points": points})

    with pytest.raises(ConfigError, match=r"colourtools 1\.0 and othertools 2\.0 both offer"):
        parse_settings(micro())


def test_options_belong_to_a_plugin(micro):
    with pytest.raises(ConfigError, match="`options` belong to `plugin`"):
        parse_settings(micro(model="brief/small", options={"bins": 3}))


@pytest.mark.parametrize(
    ("file", "audit", "section", "key"),
    [
        ("micro_parrot", "parrot", "spotting", "spotter"),
        ("micro_memorization", "memorization", "objects", "annotator"),
    ],
)
def test_an_unknown_spotter_or_annotator_is_answered_with_the_choices(
    micro, monkeypatch, file, audit, section, key
):
    monkeypatch.chdir(Path(__file__).parents[2])
    content = read_settings(Path(f"config/{file}.yaml"))
    content[audit][section] = {key: "nobody"}

    with pytest.raises(ConfigError, match=rf"{audit}\.{section}\.{key} .*'nobody'.*: [sl]"):
        parse_settings(content)
