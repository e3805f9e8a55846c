import os

import pytest

from clipaudit.steps.granted import granted_cores, granted_memory

GIB = 2**30
SLURM = "0::/system.slice/job_7/step_0/task_0"  # a limit of the job holds for its tasks
DOCKER = "4:memory:/docker/8a\n3:cpuacct,cpu:/docker/8a\n0::/"  # as the machine outside names it


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Return a function that makes control groups on a machine of 64 cores and 512 GiB."""
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 512 * GIB // 4096}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    monkeypatch.setattr(os, "sysconf", sizes.get)

    def make(listed, files):
        for name, text in files.items():
            path = tmp_path / "mounts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "groups").write_text(listed)
        return tmp_path / "groups", tmp_path / "mounts"

    return make


@pytest.mark.parametrize(
    ("listed", "files", "cores"),
    [
        ("0::/", {"cpu.max": "400000 100000\n"}, 4),
        ("0::/", {"cpu.max": "250000 100000\n"}, 3),
        ("0::/", {"cpu.max": "5000 100000\n"}, 1),
        ("0::/", {"cpu.max": "max 100000\n"}, 64),
        ("0::/", {"cpu.max": "9900000 100000\n"}, 64),
        ("0::/", {}, 64),
        (SLURM, {"system.slice/job_7/cpu.max": "800000 100000\n"}, 8),
        (DOCKER, {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2),
        (DOCKER, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 64),
        ("9:cpuset:/", {"cpu.max": "400000 100000\n"}, 64),
    ],
)
def test_a_limit_of_cpu_time_bounds_the_cores(groups, listed, files, cores):
    assert granted_cores(*groups(listed, files)) == cores


@pytest.mark.parametrize(
    ("listed", "files", "gib"),
    [
        ("0::/", {"memory.max": f"{16 * GIB}\n"}, 16),
        ("0::/", {"memory.max": "max\n"}, 512),
        (SLURM, {"system.slice/job_7/memory.max": f"{9 * GIB}\n"}, 9),
        (
            SLURM,
            {
                "system.slice/job_7/memory.max": f"{9 * GIB}\n",
                "system.slice/job_7/step_0/memory.max": f"{7 * GIB}\n",
                "system.slice/job_7/step_0/task_0/memory.max": "max\n",
            },
            7,
        ),
        (DOCKER, {"memory/memory.limit_in_bytes": str(5 * GIB)}, 5),
        (DOCKER, {"memory/memory.limit_in_bytes": "9223372036854771712"}, 512),
        ("", {}, 512),
    ],
)
def test_the_smallest_limit_of_the_groups_bounds_the_memory(groups, listed, files, gib):
    assert granted_memory(*groups(listed, files)) == gib * GIB


def test_without_control_groups_and_affinity_all_cores_are_granted(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")  # as on macOS

    assert granted_cores(tmp_path / "none", tmp_path) == os.cpu_count()
