"""Starts torchrun once on each node of a SLURM job that train together.

All start through one srun, which ends with the first of them that fails. They meet at a port of
the node that this process runs on.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

from clipaudit.errors import ConfigError, StepError

# NFS may show a new file late, and listing its folder makes it ask its server again
_LOOK = """
for try in 1 2 3 4 5; do
    test -r "$0" && exit
    ls "$(dirname "$0")" > /dev/null 2>&1
    sleep 1
done
echo "$SLURMD_NODENAME"
"""


def torchrun(processes: int, *, nodes: int) -> list[str]:
    """Return the command, without the program, that starts `processes` processes on `nodes` nodes.

    Raises ConfigError if the nodes do not get equally many, or are not those of this process's
    SLURM job.
    """
    each, left = divmod(processes, nodes)
    if left:
        raise ConfigError(f"{processes} processes on {nodes} nodes: each node needs equally many")
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={each}"]
    if nodes == 1:
        return [*command, "--standalone"]
    there = _nodes_of_job()
    if there != nodes:
        raise ConfigError(
            f"the resource `nodes` is {nodes}, nodes of this SLURM job: {there or 'none'}. Set it "
            "in a profile for SLURM, with the lines that docs/slurm.md shows, or remove it."
        )
    meeting = [f"--nnodes={nodes}", "--rdzv-backend=c10d", f"--rdzv-endpoint={_endpoint()}"]
    return [*_on_each(nodes), *command, *meeting, f"--rdzv-id={os.environ['SLURM_JOB_ID']}"]


def require_visible(path: Path, *, nodes: int) -> None:
    """Raise StepError unless each of several nodes can read `path`."""
    if nodes == 1:
        return
    look = [*_on_each(nodes), "sh", "-c", _LOOK, str(path)]
    looked = subprocess.run(look, stdout=subprocess.PIPE, text=True)
    if looked.returncode:
        raise StepError(
            f"srun ended with {looked.returncode} on the {nodes} nodes of SLURM job "
            f"{os.environ['SLURM_JOB_ID']}: see its messages above."
        )
    blind = sorted(looked.stdout.split())
    if blind:
        raise StepError(
            f"{path}: node {', '.join(blind)} cannot read it. Training on {nodes} nodes needs the "
            "store on a file system that all nodes share: move it there, or train on one node."
        )


def node_name() -> str:
    """Return the name of this node: SLURM's, else the machine's."""
    return os.environ.get("SLURMD_NODENAME") or platform.node()


def _nodes_of_job() -> int:
    """Return how many nodes this process's SLURM job has; 0 outside SLURM.

    This asks SLURM, as Snakemake's plugin leaves a job only one of its variables, the job's number.
    """
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        return 0
    ask = ["squeue", "--noheader", "--format=%D", f"--jobs={job}"]
    asked = subprocess.run(ask, stdout=subprocess.PIPE, text=True)
    if asked.returncode:
        raise StepError(
            f"squeue ended with {asked.returncode} when asked for the nodes of SLURM job {job}: "
            "see its messages above."
        )
    return int(asked.stdout)


def _on_each(nodes: int) -> list[str]:
    """Return the command that starts a program once on each node, with all of the job's resources.

    The job may itself be a step, which `--overlap` lets share its processors.
    """
    shape = [f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1"]
    return ["srun", "--overlap", *shape, "--cpu-bind=none", "--input=none", "--kill-on-bad-exit=1"]


def _endpoint() -> str:
    """Return this node and a port that another SLURM job takes only by chance at the same time.

    It is below the ports that Linux assigns itself.
    """
    return f"{platform.node()}:{20_000 + int(os.environ['SLURM_JOB_ID']) % 10_000}"
