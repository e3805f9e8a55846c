"""Set up every workflow script: its threads, log, errors and code digest.

A script defines a function `compute(step)` and passes it to `run_step`; see `clipaudit.steps.step`.
"""

import atexit
import contextlib
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from clipaudit.errors import ClipauditError, StepError
from clipaudit.steps.codedigest import code_digest, rule_sources
from clipaudit.steps.params import threads_of
from clipaudit.steps.step import Step
from clipaudit.store.disks import disk_error

__all__ = ["Step", "code", "reporting", "run_step", "stop_with"]

# What numpy, faiss, torch and OpenCV read when they are imported, also in processes of a job
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
)
# By default Python searches for reference cycles at each 700 new objects. Libraries define 400,000,
# hardly any of them garbage.
OBJECTS_PER_COLLECTION = 10_000

logger = logging.getLogger(__name__)


def run_step(job: Any, compute: Callable[[Step], None]) -> None:  # noqa: ANN401
    """Run one workflow script's `compute`, or take its results from the store.

    Exit with 1 and one message on our own errors.
    """
    with reporting(job):
        Step(job).run(compute)


@contextlib.contextmanager
def reporting(job: Any) -> Iterator[None]:  # noqa: ANN401
    """Run a script's body with its threads and log set; our own errors become one message."""
    _collect_rarely()
    _set_threads(threads_of(job))
    try:
        _log_to(Path(job.log[0]) if job.log else None)
        _refuse_absent_data(job)
        _refuse_changed_code(job)
        yield
    except ClipauditError as error:
        logger.info("stopped: %s", error)
        stop_with(error, at=job.rule)
    except KeyboardInterrupt:  # Ctrl-C reaches each job; Snakemake says which ones it stopped
        logger.info("stopped by Ctrl-C")
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        folders = f"{job.config['store']}, {job.config['results']} or the temporary folder"
        refused = disk_error(error, among=folders)
        if refused is None:
            raise
        logger.info("stopped: %s", refused)
        stop_with(refused, at=job.rule)


def stop_with(error: ClipauditError, *, at: str = "settings") -> NoReturn:
    """End the process with one of our own errors as a message, without traceback."""
    print(f"clipaudit: {at}: {error}", file=sys.stderr)
    sys.exit(1)


def code(rule: str, *extra_files: str) -> str:
    """Return the code digest of a rule's script for its params: `workflow_scripts/<rule>.py`."""
    return code_digest(*rule_sources(rule, extra_files))


def _refuse_absent_data(job: Any) -> None:  # noqa: ANN401
    """Stop if the user's files were omitted from the inputs: a step would see none."""
    if job.config.get("without_data"):
        raise StepError(
            "the settings have without_data, which is only for plans: nothing is computed. Provide "
            "the data that they name, remove without_data, and start again."
        )


def _refuse_changed_code(job: Any) -> None:  # noqa: ANN401
    """Stop if the code on disk is no longer the code that this run was planned with.

    A rule that runs another rule's script names it in its param `script`.
    """
    script = job.params.get("script", job.rule)
    now = code(script, *job.params.get("code_files", ()))
    if now != job.params.code:
        raise StepError(
            f"the code of this step has digest {now[:12]}... now, but {job.params.code[:12]}... "
            "when the run was planned: it was edited meanwhile. Start the same command again."
        )


def _collect_rarely() -> None:
    """Let Python search for reference cycles less often, and not again when the process ends."""
    gc.set_threshold(OBJECTS_PER_COLLECTION)
    atexit.register(gc.disable)


def _set_threads(threads: int) -> None:
    """Set the threads before a library is imported: more than granted cost tenfold."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)


def _log_to(path: Path | None) -> None:
    """Log to a file, and warnings (such as NOT REPRODUCED) also to the terminal."""
    terminal = logging.StreamHandler()
    handlers: list[logging.Handler] = [terminal]
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        terminal.setLevel(logging.WARNING)
        handlers.append(LogFile(path, mode="w"))
    logging.basicConfig(
        handlers=handlers, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )


class LogFile(logging.FileHandler):
    """A job's log. If its disk is full or broken, lines are lost: the job's own message says so."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Report an error of a line, as logging does, unless it is the disk's."""
        error = sys.exc_info()[1]
        if not isinstance(error, Exception) or disk_error(error, among="the log") is None:
            super().handleError(record)
