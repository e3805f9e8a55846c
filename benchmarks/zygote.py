"""Runs Snakemake with scripts in forks of a warm process, for thousands of tiny jobs.

    python benchmarks/zygote.py <any arguments of snakemake>

Snakemake starts a Python for each script, whose imports take longer than a tiny job. Here a server
process (multiprocessing's forkserver) has imported the libraries once, and each job is a fork of
it: still its own process, with the same script, job object, log and exit status. Everything else is
unmodified Snakemake: its graph, its scheduler, its metadata.
"""

import multiprocessing
import os
import runpy
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any

from clipaudit.steps.workflow import THREAD_VARIABLES

PRELOADED = (
    "clipaudit.steps.workflow",
    "snakemake.iocontainers",
    "duckdb",
    "pyarrow.parquet",
    "torch",
    "open_clip",
    "clipaudit.config.loading",
    "clipaudit.corpora.samples",
    "clipaudit.models.clip",
    "clipaudit.neighbors.backends",
    "clipaudit.reports.tables",
)


def run_script(path: str, folder: str, arguments: Sequence[str]) -> None:
    """Run a script that Snakemake wrote, as `python path` does in its folder."""
    os.chdir(folder)
    sys.argv = list(arguments)
    runpy.run_path(path, run_name="__main__")


def execute_in_fork(script: Any, path: str, edit: bool = False) -> None:  # noqa: ANN401
    """Take the place of snakemake.script.PythonScript.execute_script."""
    process = _CONTEXT.Process(target=run_script, args=(path, os.getcwd(), [path]))
    with _ONE_ASKS:
        process.start()
    wait([process.sentinel])
    with _ONE_ASKS:
        status = process.exitcode
    if status:
        raise RuntimeError(f"the script of rule {script.rulename} ended with {status}")


def main() -> None:
    """Run Snakemake's command line."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = "1"  # before the server imports what reads them
    from snakemake.cli import main as snakemake
    from snakemake.script import PythonScript

    PythonScript.execute_script = execute_in_fork
    snakemake(sys.argv[1:])


_ONE_ASKS = threading.Lock()  # each start polls all children, and an exit status is read once
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(list(PRELOADED))

if __name__ == "__main__":
    main()
