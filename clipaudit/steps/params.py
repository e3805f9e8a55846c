"""Read what a Snakemake job says of itself, for steps and for `clipaudit plan`."""

from collections.abc import Iterable
from typing import Any

# Params that are not settings: which code runs, where shards are, and what kind of step it is.
#   states        of the user's files that it reads: for Snakemake, which only asks what is newer
#   numeric       the distributions whose versions enter the key; an exact step names none
#   reads_labels  False if input labels cannot affect the result
#   renamed       the wildcards that its outputs' labels replace
#   by_processes  its threads are processes of one thread each, which never change the result
NO_SETTINGS = {
    "code", "code_files", "script", "urls", "states", "numeric", "reads_labels", "renamed",
    "by_processes",
}  # fmt: skip


def named(files: Iterable[tuple[str, Any]]) -> dict[str, list[str]]:
    """Return a job's inputs or outputs by name, as lists of paths."""
    return {
        name: [str(value)] if isinstance(value, str) else [str(path) for path in value]
        for name, value in files
    }


def threads_of(job: Any) -> int:  # noqa: ANN401
    """Return the number of threads of each process of a job."""
    return 1 if job.params.get("by_processes", False) else int(job.threads)


def settings_of(params: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the params of a job without those that name its code."""
    return {name: value for name, value in params.items() if name not in NO_SETTINGS}
