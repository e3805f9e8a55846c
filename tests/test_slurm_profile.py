"""The profiles: the resources of rules, and the installation of the SLURM profile."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROFILE = ROOT / "profiles/slurm/config.yaml"
LOCAL = ROOT / "profiles/local/config.yaml"
PAGE = ROOT / "docs/slurm.md"
RULE = re.compile(r"^ *(?=rule |use rule )", re.MULTILINE)


def blocks():
    """Yield each rule, the rule it varies or None, and its text."""
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for block in RULE.split(path.read_text())[1:]:
            base, name = re.match(r"(?:use rule (\w+) as|rule) (\w+)", block).groups()
            yield name, base, block


def able():
    """Return the rules whose script can use a GPU."""
    scripts = {}
    for name, base, block in blocks():
        named = re.search(r"workflow_scripts/(\w+)\.py", block)
        scripts[name] = named[1] if named else base
    folder = ROOT / "workflow_scripts"
    return {
        rule
        for rule, script in scripts.items()
        if "step.device" in (folder / f"{script}.py").read_text()
    }


def asked(profile):
    return yaml.safe_load(profile.read_text())["set-resources"]


def install(folder):
    """Run `make slurm-profile` with its own configuration folder; return the installed file."""
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder)}
    make = ["make", "--silent", "--old-file", ".venv/.slurm", "slurm-profile"]
    subprocess.run(make, cwd=ROOT, env=environment, check=True)
    return folder / "snakemake/slurm/config.yaml"


@pytest.mark.parametrize("profile", [PROFILE, LOCAL])
def test_exactly_the_rules_that_can_use_a_gpu_request_one(profile):
    assert {rule for rule, what in asked(profile).items() if what.get("gpu")} == able()


@pytest.mark.parametrize("line", re.findall(r"\w+: \{.+?\}", PAGE.read_text()))
def test_a_line_of_the_page_on_slurm_keeps_the_gpus_of_its_rule_as_many_as_its_nodes_have(line):
    """SLURM refuses `--gpus`, the plugin's for `gpu`, of another number than `--gres` on nodes."""
    rule = line.partition(":")[0]
    others = PROFILE.read_text().replace(f"  {rule}: *gpu\n", "")

    filled_in = yaml.safe_load(others.replace("\nset-threads:", f"  {line}\n\nset-threads:"))

    found = filled_in["set-resources"][rule]
    each, left = divmod(found["gpu"], found.get("nodes", 1))
    assert (found["slurm_partition"], found["gres"], left) == ("gpu", f"gpu:{each}", 0)


def test_the_page_on_slurm_names_the_type_of_a_gpu_in_both_requests_of_the_plugin():
    """It adds `--gpus`, without a type unless `gpu_model` has one; SLURM refuses to mix them."""
    typed = re.findall(r"gpu:([a-z]\w*):", PAGE.read_text() + PROFILE.read_text())
    assert typed
    for page in (PAGE, PROFILE):
        for kind in re.findall(r"gpu:([a-z]\w*):", page.read_text()):
            assert f"gpu_model: {kind}" in page.read_text()


def test_the_local_profile_overrides_memory_for_the_papers_size():
    large = set()
    for name, base, block in blocks():
        if "memory(" in block or base in large:
            large.add(name)

    assert len(large) > 30
    assert large <= asked(LOCAL).keys()


def test_the_slurm_profile_shares_the_other_options_of_the_local_profile():
    local, slurm = (yaml.safe_load(path.read_text()) for path in (LOCAL, PROFILE))
    for own in ("cores", "resources", "default-resources", "set-resources"):
        del local[own]

    assert local.items() <= slurm.items()


@pytest.mark.parametrize("attempt", [1, 2])
def test_memory_grows_by_attempt(attempt):
    snakemake = [sys.executable, "-m", "snakemake", "--configfile", "config/micro.yaml", "-n"]
    target = "results_micro/models/brief/small.json"
    command = [*snakemake, "--attempt", str(attempt), "--", target]

    planned = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True).stdout

    assert f"mem_mb={32_000 * attempt}," in planned.partition("rule train:")[2]


def test_the_profile_is_installed_where_snakemake_looks_for_it(tmp_path):
    assert install(tmp_path).read_text() == PROFILE.read_text()


def test_a_profile_filled_in_by_a_site_is_kept(tmp_path):
    install(tmp_path).write_text("ours")

    assert install(tmp_path).read_text() == "ours"
