"""Audits from plug-ins: the settings that they add, and what is refused."""

import json
from pathlib import Path

import pytest
from examplepackage import install, register

from clipaudit.config.audits import audits, plugged_audits
from clipaudit.config.loading import json_schema, parse_settings, read_settings
from clipaudit.errors import ConfigError
from clipaudit.imports.asked_data import settings_text

NAMES = ["copies", "similarity", "memorization", "parrot"]


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Return a folder of installed packages, with the package of the page."""
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path)
    return tmp_path


def settings(**sections):
    content = read_settings(Path(__file__).parents[2] / "config/micro_copies.yaml")
    return {**content, **sections}


def offer(site, name, text, module="audit"):
    """Install a package of one module that offers an audit."""
    (site / f"{name}tools").mkdir()
    (site / f"{name}tools/__init__.py").touch()
    (site / f"{name}tools/{module}.py").write_text(text)
    points = {"clipaudit.audits": {name: f"{name}tools.{module}:AUDIT"}}
    register(site, name=f"{name}tools", version="2.0", **{"entry-points": points})


def test_a_section_with_its_name_turns_on_a_plugin_after_our_audits(site):
    run = parse_settings(settings(colours={"corpora": ["web"]}))

    assert [audit.name for audit, _ in run.audits()] == ["copies", "colours"]
    assert [audit.name for audit in run.known_audits()] == [*NAMES, "colours"]


def test_a_fault_in_a_plugins_section_is_reported_as_in_ours(site):
    with pytest.raises(ConfigError, match=r"colours\.corpora: 'wbe' is not among corpora"):
        parse_settings(settings(colours={"corpora": ["wbe"]}))


def test_a_misspelt_section_is_also_compared_with_plugins(site):
    with pytest.raises(ConfigError, match=r"colurs is not a setting\. Did you mean `colours`"):
        parse_settings(settings(colurs={"corpora": ["web"]}))


def test_an_unknown_section_may_belong_to_a_plugin_to_install(site):
    with pytest.raises(ConfigError, match=r"sepia is not a setting\. .* install the distribution"):
        parse_settings(settings(sepia={}))


def test_a_plugin_that_cannot_be_imported_affects_only_settings_that_use_it(site):
    offer(site, "broken", "import nowhere")

    assert [audit.name for audit, _ in parse_settings(settings()).audits()] == ["copies"]
    with pytest.raises(ConfigError, match=r"brokentools 2\.0\) failed while importing .*nowhere"):
        parse_settings(settings(broken={}))


@pytest.mark.parametrize("name", ["corpora", "copies", "title"])
def test_a_plugin_with_a_name_of_our_own_settings_is_refused(site, name):
    offer(site, name, "AUDIT = None")

    with pytest.raises(ConfigError, match=rf"{name}tools 2\.0: an audit named '{name}', which is"):
        parse_settings(settings(**({"title": {}} if name == "title" else {})))


def test_an_object_that_is_not_an_audit_is_refused(site):
    offer(site, "number", "AUDIT = 3")

    with pytest.raises(ConfigError, match=r"expected an Audit named 'number', .*found int"):
        parse_settings(settings(number={}))


def test_the_schema_has_a_plugins_section_on_request(site):
    with_it, without = (json.loads(json_schema(names))["properties"] for names in (["colours"], ()))

    assert with_it.keys() - without.keys() == {"colours"}


def test_settings_made_for_data_have_a_plugins_section(site):
    corpora = {"train": {"captions": "none"}, "val": {"captions": "none"}}

    assert "# How bright are the images?\ncolours:\n" in settings_text(corpora)


def test_all_plugins_are_listed_by_name(site):
    offer(site, "broken", "import nowhere")

    assert plugged_audits() == ["broken", "colours"]
    assert [audit.name for audit in audits(["colours"])] == [*NAMES, "colours"]
