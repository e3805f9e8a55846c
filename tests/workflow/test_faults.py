"""Wrong settings and files, and altered objects: one message, exit code 1, no partial output."""

import os
import re

import pytest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epochs: 1", "epochs: 0", "recipes.brief.epochs: Input should be greater than or equal"),
        ("recipe: brief", "recipy: brief", "recipy is not a setting. Did you mean `recipe`?"),
        ("large: large", "large: web", "similarity.large: 'web' is not among corpora"),
        ("world: micro}\n  small", "}\n  small", "files that the settings name do not exist"),
        ('"data/micro/large/{00000..00003}.tar"', "[]", "the list of shards is empty"),
        ("  val: {shards", "  large: {shards", "'large' occurs twice in one section"),
    ],
    ids=["value", "key", "reference", "path", "no shards", "duplicate name"],
)
def test_wrong_settings_stop_before_any_job(fresh, old, new, message):
    fresh.edit("config/micro.yaml", old, new)

    output = fresh.run(ok=False)

    assert "clipaudit: settings: " in output
    assert message in output
    assert "Traceback" not in output
    assert not fresh.results.exists()
    assert not fresh.store.exists()


@pytest.mark.parametrize("content", [b"", b"no tar at all" * 100])
def test_a_shard_that_is_not_a_tar_is_named(fresh, content):
    fresh.use_own_shard(content)

    output = fresh.run(ok=False, target="results_micro/samples/large/00000.json")

    assert re.search(r"clipaudit: index: .*own\.tar", output)
    assert "Traceback" not in output.partition("clipaudit: index")[2].partition("RuleException")[0]
    assert fresh.digests() == {}
    assert not list(fresh.store.rglob("objects/*/*"))


def test_an_altered_object_is_found_and_never_used(project):
    pointer = "samples/large/00000.json"
    digest = project.digests()[pointer]
    path = project.store / "objects" / digest[:2] / digest[2:]
    os.chmod(path, 0o644)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    assert f"{pointer}: " in project.clipaudit(
        "verify", "--results", "results_micro", "--store", "store_micro", ok=False
    )
    (project.results / "manifests/large/all/00000.json").unlink()
    (project.store / "actions").rename(project.store / "forgotten")
    output = project.run(target="results_micro/manifests/large/all/00000.json", ok=False)
    assert "its content is" in output
    assert "`clipaudit verify --repair --configfile SETTINGS` computes it again" in output


def test_code_edited_during_a_run_stops_the_step(fresh):
    """The digest in the plan differs from the one on disk, as if an editor had saved in between."""
    fresh.edit(
        "rules/corpora.smk",
        'code=code("keep_all"),',
        'code="0" * 64,',
    )

    output = fresh.run(ok=False, target="results_micro/manifests/small/all/00000.json")

    assert "clipaudit: keep_all: the code of this step has digest" in output
    assert "when the run was planned: it was edited meanwhile" in output
