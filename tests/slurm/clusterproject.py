"""Copies of the project whose runs use the cluster, by the profile of `make slurm-profile`."""

import os
import signal
import subprocess
import sys

import yaml
from microproject import ROOT, Project

SETTINGS = "config/tiny.yaml"
EMBEDDED = (
    "results_micro/embeddings/own/sketch/00000.json results_micro/embeddings/own/small/00000.json"
)
BEFORE = (
    "results_micro/models/brief/small.json results_micro/samples/sketch/00000.json "
    "results_micro/samples/small/00000.json"
)
SHORT = {"mem_mb": "2000 * attempt", "runtime": 10}
SITE = {"slurm_account": "audits", "slurm_partition": "cpu", **SHORT}


class ClusterProject(Project):
    """A copy of the project whose runs use the cluster."""

    run_now = None

    def command(self, *arguments, target="all_tables"):
        snakemake = [sys.executable, "-m", "snakemake", "--profile", "slurm"]
        return [*snakemake, "--configfile", SETTINGS, *arguments, "--", *target.split()]

    def environment(self):
        paths = [str(self.folder), *filter(None, [os.environ.get("PYTHONPATH")])]
        site = str(self.folder / "site")
        ours = {"PYTHONPATH": os.pathsep.join(paths), "XDG_CONFIG_HOME": site}
        return {**super().environment(), **ours}

    def install_profile(self):
        """Install as a user does: `make slurm-profile`, then the site's own lines.

        Nodes have no real GPU; `index` requests one although it does not compute on it.
        """
        make = ["make", "--silent", "--old-file", ".venv/.slurm", "slurm-profile"]
        subprocess.run(make, cwd=ROOT, env=self.environment(), check=True, capture_output=True)
        path = self.folder / "site/snakemake/slurm/config.yaml"
        profile = yaml.safe_load(path.read_text())
        profile["default-resources"] |= SITE
        with_gpu = {**profile["set-resources"]["train"], **SHORT}
        without = {rule: {**SHORT, "gpu": 0} for rule in profile["set-resources"]}
        profile["set-resources"] = {**without, "index": with_gpu}
        profile["set-threads"] = {"centroids": 2}  # as many as the CPU nodes have
        profile["slurm-init-seconds-before-status-checks"] = 12  # later polls are rarer and rarer
        path.write_text(yaml.safe_dump(profile))

    def start(self, *arguments, **options):
        """Start a run, which `finish` waits for or `kill` ends."""
        self.run_now = super().start(*arguments, **options)

    def finish(self, seconds=900):
        """Wait for the end of the run; return its output."""
        output, _ = self.run_now.communicate(timeout=seconds)
        assert self.run_now.returncode == 0, output
        return output

    def kill(self):
        """Kill the run immediately, if one is active."""
        if self.run_now is not None and self.run_now.poll() is None:
            os.killpg(self.run_now.pid, signal.SIGKILL)
            self.run_now.communicate()
