"""The profile for clusters: what it has rules ask for, and how a site gets its copy."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROFILE = ROOT / "profiles/slurm/config.yaml"
DEMO = ROOT / "profiles/demo/config.yaml"
RULE = re.compile(r"^ *(?=rule |use rule )", re.MULTILINE)


def scripts():
    """The text of the script of every rule."""
    found = {}
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for block in RULE.split(path.read_text())[1:]:
            base, name = re.match(r"(?:use rule (\w+) as|rule) (\w+)", block).groups()
            named = re.search(r"workflow_scripts/(\w+)\.py", block)
            found[name] = named[1] if named else base
    folder = ROOT / "workflow_scripts"
    return {rule: (folder / f"{script}.py").read_text() for rule, script in found.items()}


def install(folder):
    """Run `make slurm-profile` with a configuration folder of its own; the file it installs."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder)}
    make = ["make", "--silent", "--old-file", ".venv/.slurm", "slurm-profile"]
    subprocess.run(make, cwd=ROOT, env=environment, check=True)
    return folder / "snakemake/slurm/config.yaml"


def test_every_rule_that_can_use_a_gpu_asks_for_one_and_no_other():
    able = {rule for rule, script in scripts().items() if "step.device" in script}

    assert set(yaml.safe_load(PROFILE.read_text())["set-resources"]) == able


def test_it_runs_as_the_demo_does_where_a_cluster_asks_for_nothing_else():
    demo, slurm = (yaml.safe_load(path.read_text()) for path in (DEMO, PROFILE))
    del demo["cores"]

    assert demo.items() <= slurm.items()


@pytest.mark.parametrize("attempt", [1, 2])
def test_memory_grows_by_attempt(attempt):
    snakemake = [sys.executable, "-m", "snakemake", "--configfile", "config/micro.yaml", "-n"]
    target = "results_micro/models/brief/small.json"
    command = [*snakemake, "--attempt", str(attempt), "--", target]

    planned = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True).stdout

    assert f"mem_mb={32_000 * attempt}," in planned.partition("rule train:")[2]


def test_it_is_installed_where_snakemake_looks_for_it(tmp_path):
    assert install(tmp_path).read_text() == PROFILE.read_text()


def test_a_profile_that_a_site_filled_in_is_left_alone(tmp_path):
    install(tmp_path).write_text("ours")

    assert install(tmp_path).read_text() == "ours"
