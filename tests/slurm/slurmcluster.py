"""A real SLURM of three emulated nodes on this machine: started, queried, broken, stopped.

Needs root and Debian's slurmctld, slurmd, slurm-client and munge; no systemd. State and logs are in
a folder of /tmp. slurm.conf must be at its compiled-in path: jobs do not inherit SLURM_CONF. So
a machine has one cluster, and none is started if another one is configured.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from string import Template

CONFIGURED = Path("/etc/slurm")
FILES = ("slurm.conf", "gres.conf", "cgroup.conf")
PREFIX = "clipaudit-slurm-"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol")
NODES = ("cpu1", "cpu2", "gpu1")
CGROUPS = Path("/sys/fs/cgroup")  # version 1 kills exactly at the limit
CONSTRAINED = "ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup"
SAMPLED = (
    "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
    "JobAcctGatherParams=OverMemoryKill,UsePss"
)


class Cluster:
    """Controller, nodes cpu1, cpu2 and gpu1, and munge, by process ids kept in a folder."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self._children = {}  # of this process, which must wait for them

    # --- start and stop --------------------------------------------------------------------------

    @classmethod
    def new(cls):
        """Start a cluster in a new folder, after stopping one that a killed test run left."""
        missing = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
        assert not missing, f"no {missing}: apt-get install slurmctld slurmd slurm-client munge"
        assert os.geteuid() == 0, "slurmd starts jobs as root only"
        links = [path for path in map(CONFIGURED.joinpath, FILES) if path.is_symlink()]
        for folder in {link.readlink().parent for link in links}:
            if folder.name.startswith(PREFIX) and cls(folder)._owner_has_ended():
                cls(folder).down()
        taken = [name for name in FILES if os.path.lexists(CONFIGURED / name)]
        assert not taken, f"{CONFIGURED} has {taken} of another cluster: run these tests elsewhere"
        cluster = cls(tempfile.mkdtemp(prefix=PREFIX))
        try:
            cluster.up()
        except BaseException:
            cluster.down()
            raise
        return cluster

    def up(self):
        """Write the configuration, start every daemon, and wait for idle nodes."""
        (self.folder / "owner").write_text(str(os.getpid()))
        self.folder.chmod(0o755)  # munged refuses a socket that others cannot reach
        self._configure()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self._start("munged", "--foreground", f"--key-file={key}", *self._munge_files())
        self._wait("munged", lambda: (self.folder / "munge.socket").exists())
        self._start("slurmctld", "-D")
        self._wait("slurmctld", lambda: command("scontrol", "ping", ok=False).endswith("UP"))
        for node in NODES:
            self.revive(node)

    def down(self):
        """Cancel running jobs, stop all started daemons, and restore /etc/slurm."""
        if self._process("slurmctld") is not None:
            with suppress(AssertionError):
                self.clear()
        for name in (*(f"slurmd-{node}" for node in NODES), "slurmctld", "munged"):
            self._stop(name, signal.SIGTERM)
        for name in FILES:
            link = CONFIGURED / name
            if link.is_symlink() and link.readlink() == self.folder / name:
                link.unlink()
        _remove_cgroups()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _owner_has_ended(self):
        owner = self.folder / "owner"
        return not (owner.exists() and Path(f"/proc/{owner.read_text()}").exists())

    def _configure(self):
        for folder in ("state", *(f"spool-{node}" for node in NODES)):
            (self.folder / folder).mkdir()
        values = {
            "host": socket.gethostname().partition(".")[0],
            "folder": self.folder,
            "memory": CONSTRAINED if _has_cgroups() else SAMPLED,
        }
        template = Path(__file__).with_name("slurm.conf.in").read_text()
        contents = {
            "slurm.conf": Template(template).substitute(values),
            "gres.conf": "NodeName=gpu1 Name=gpu File=/dev/null\n"
            "NodeName=gpu1 Name=gpu File=/dev/zero\n",  # files that exist; nothing opens them
            "cgroup.conf": "CgroupPlugin=cgroup/v1\nConstrainRAMSpace=yes\n",
        }
        CONFIGURED.mkdir(exist_ok=True)
        for name, content in contents.items():
            (self.folder / name).write_text(content)
            (CONFIGURED / name).symlink_to(self.folder / name)

    def _munge_files(self):
        names = {"socket": "socket", "seed-file": "seed", "pid-file": "pid", "log-file": "log"}
        return [f"--{option}={self.folder}/munge.{end}" for option, end in names.items()]

    # --- daemons, each with its process id in a file ---------------------------------------------

    def _start(self, program, *arguments, name=None):
        name = name or program
        with (self.folder / f"{name}.out").open("a") as output:
            process = self._children[name] = subprocess.Popen(
                [shutil.which(program, path=_path()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        (self.folder / f"{name}.started").write_text(str(process.pid))

    def _process(self, name):
        """Return the id of a running daemon; None if it has ended or another process has its id."""
        if name in self._children:
            self._children[name].poll()
        with suppress(FileNotFoundError, ValueError):
            number = int((self.folder / f"{name}.started").read_text())
            if Path(f"/proc/{number}/comm").read_text().strip() == name.partition("-")[0]:
                return number
        return None

    def _stop(self, name, how):
        number = self._process(name)
        if number is not None:
            os.kill(number, how)
            self._wait(f"end of {name}", lambda: self._process(name) is None)

    def _wait(self, what, reached, seconds=60):
        end = time.monotonic() + seconds
        while not reached():
            assert time.monotonic() < end, f"no {what} after {seconds} s{self._last_lines()}"
            time.sleep(0.2)

    def _last_lines(self, count=10):
        """Return the last lines of the daemons' logs and outputs, which `down` removes."""
        files = sorted(path for end in ("log", "out") for path in self.folder.glob(f"*.{end}"))
        said = {path.name: path.read_text(errors="replace").splitlines() for path in files}
        return "".join(
            f"\n{name}:\n  " + "\n  ".join(lines[-count:]) for name, lines in said.items() if lines
        )

    # --- nodes that break ----------------------------------------------------------------------

    def crash(self, node):
        """Kill a node: its daemon, and every process of the jobs on it."""
        jobs = command("squeue", "-h", "-w", node, "-o", "%A").split()
        self._stop(f"slurmd-{node}", signal.SIGKILL)
        for number in [each for job in jobs for each in _step_daemons(job)]:
            for each in [number, *_descendants(number)]:
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)

    def revive(self, node):
        """Start the daemon of a node and wait until it accepts jobs."""
        self._start("slurmd", "-D", "-N", node, name=f"slurmd-{node}")
        self._wait(
            f"idle {node}", lambda: "idle" in command("sinfo", "-hN", "-n", node, "-o", "%T")
        )

    # --- jobs ----------------------------------------------------------------------------------

    def queue(self, state=""):
        """Return the ids and nodes of jobs that are pending or running, or in one state."""
        states = state or "PENDING,RUNNING,COMPLETING"
        lines = command("squeue", "-h", "-t", states, "-o", "%A %N").splitlines()
        return [tuple((line + " ").split(" ")[:2]) for line in lines]

    def running(self, seconds=120):
        """Wait for a running job; return its id and its node."""
        self._wait("running job", lambda: self.queue("RUNNING"), seconds)
        return self.queue("RUNNING")[0]

    def clear(self):
        """Cancel all remaining jobs and wait until the queue is empty."""
        command("scancel", "--user", "root", ok=False)
        self._wait("empty queue", lambda: not self.queue())

    def ends(self, jobs):
        """Return how recent jobs ended, by job id, when all have left their nodes."""
        self._wait("end of jobs", lambda: "COMPLETING" not in map(self.states().get, jobs))
        states = self.states()
        return {job: states[job] for job in jobs}

    def states(self):
        """Return the states of the jobs of the last minutes, by job id."""
        lines = command("squeue", "-h", "-t", "all", "-o", "%A %T").splitlines()
        return dict(line.split() for line in lines)


def command(*arguments, ok=True):
    """Return the output of a command of SLURM."""
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 or not ok, done.stderr
    return done.stdout.strip()


def _path():
    return os.environ["PATH"] + ":/usr/sbin"


def _step_daemons(job):
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_bytes().startswith(f"slurmstepd: [{job}.".encode()):
                yield int(path.parent.name)


def _descendants(number):
    with suppress(OSError):
        for path in Path(f"/proc/{number}/task").glob("*/children"):
            for child in map(int, path.read_text().split()):
                yield from (child, *_descendants(child))


def _has_cgroups():
    return all(os.access(CGROUPS / kind, os.W_OK) for kind in ("memory", "freezer"))


def _remove_cgroups():
    for node in NODES:
        for top in CGROUPS.glob(f"*/slurm_{node}"):
            for folder, _, _ in os.walk(top, topdown=False):
                with suppress(OSError):
                    os.rmdir(folder)
