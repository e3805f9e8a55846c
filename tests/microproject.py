"""Copies of the project with the micro world's settings, whose runs are real subprocesses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
from workingcopy import copy_files

ROOT = Path(__file__).parents[1]
SNAKEMAKE = (sys.executable, "-m", "snakemake", "--profile", "profiles/local", "--cores", "2")


class Project:
    """A copy of the project, with the micro world's settings."""

    def __init__(self, folder):
        self.folder = folder
        self.results = folder / "results_micro"
        self.store = folder / "store_micro"

    def command(self, *arguments, target="all_tables all_figures", config="config/micro.yaml"):
        return [*SNAKEMAKE, "--configfile", config, *arguments, "--", *target.split()]

    def environment(self):
        return {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}

    def start(self, *arguments, **options):
        """Start a run as the leader of its own process group."""
        return subprocess.Popen(
            self.command(*arguments, **options),
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments, ok=True, **options):
        """Run to the end; return the printed output."""
        process = self.start(*arguments, **options)
        output, _ = process.communicate(timeout=500)
        assert (process.returncode == 0) == ok, output
        return output

    def clipaudit(self, *arguments, ok=True):
        return self.python("-c", "from clipaudit.cli import main; main()", *arguments, ok=ok)

    def stream(self, digest, shard):
        """Return the bytes of one shard of a sealed manifest."""
        command = [sys.executable, "-m", "clipaudit.cli.stream", digest, str(shard)]
        environment = {**self.environment(), "CLIPAUDIT_STORE": str(self.store)}
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, check=True
        ).stdout

    def python(self, *arguments, ok=True):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment(),
            text=True,
            capture_output=True,
        )
        assert (done.returncode == 0) == ok, done.stdout + done.stderr
        return done.stdout + done.stderr

    def digests(self):
        """Return the digest that every pointer names, by the pointer's path."""
        return {
            str(path.relative_to(self.results)): json.loads(path.read_text())["digest"]
            for path in sorted(self.results.rglob("*.json"))
            if ".actions" not in path.parts
        }

    def computed(self):
        """Return the lineage records: one for each computed action."""
        return set((self.store / "lineage").glob("??/*/*.json"))

    def computed_steps(self, before):
        """Return the steps that were computed since `before`."""
        new = sorted(self.computed() - before)
        return sorted(json.loads(path.read_text())["ingredients"]["step"] for path in new)

    def edit(self, file, old, new):
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new))

    def use_own_shard(self, content):
        """Replace the shards of the large set by one shard of a user."""
        (self.folder / "own.tar").write_bytes(content)
        self.edit(
            "config/micro.yaml",
            'large: {shards: "data/micro/large/{00000..00003}.tar", shards_per_part: 2, '
            "world: micro}",
            "large: {shards: own.tar}",
        )


def copy_project(folder):
    copy_files(folder)
    return Project(folder)


def read(project, pattern):
    """Return the rows of all tables whose path below the results matches a pattern."""
    files = sorted(project.results.glob(f"{pattern}.parquet"))
    assert files, pattern
    return pl.concat([pl.read_parquet(file) for file in files], how="vertical_relaxed")
