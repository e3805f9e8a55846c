"""Makes copies of the project in which benchmarks and tests run the real workflow."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("Snakefile", "rules", "workflow_scripts", "clipaudit", "config", "envs", "profiles")


@dataclass(frozen=True)
class Ran:
    """The cost of one process: wall-clock seconds, and the peak memory of it or of a child."""

    seconds: float
    peak_memory_mb: int
    printed: str


@dataclass(frozen=True)
class WorkingCopy:
    """The folder of a copy."""

    folder: Path

    def snakemake(self, *arguments: str, cores: int = 2, program: Sequence[str] = ()) -> Ran:
        """Run Snakemake to its end, by default as `python -m snakemake`; exit if it fails."""
        started = time.monotonic()
        run = program or (sys.executable, "-m", "snakemake")
        command = [*run, "--profile", "profiles/local", "--cores", str(cores), *arguments]
        log = self.folder / "printed.log"
        with log.open("w") as file:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self._environment(), stdout=file, stderr=file
            )
            _, status, usage = os.wait4(process.pid, 0)
        printed = log.read_text()
        if status:
            sys.exit(f"{' '.join(command)} failed in {self.folder}:\n{printed[-3000:]}")
        return Ran(time.monotonic() - started, usage.ru_maxrss // 1024, printed)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}


def working_copy(folder: Path) -> WorkingCopy:
    """Copy the project into a folder; keep the results of an earlier copy there."""
    copy_files(folder)
    return WorkingCopy(folder.absolute())


def copy_files(folder: Path) -> None:
    """Copy the project's files that a run needs into a folder, overwriting existing ones.

    Compiled modules come along, with the times by which Python knows them: else each job of each
    run would compile clipaudit again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)
