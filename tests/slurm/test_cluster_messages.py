"""The messages of the cluster's helpers, which need no SLURM."""

import pytest
from slurmcluster import Cluster


def test_a_daemon_that_does_not_start_is_reported_with_its_last_lines(tmp_path):
    (tmp_path / "munged.out").write_text("munged: cannot bind\n")
    (tmp_path / "slurmctld.log").write_text("".join(f"line {n}\n" for n in range(12)))
    (tmp_path / "slurmd-cpu1.out").touch()

    with pytest.raises(AssertionError) as failed:
        Cluster(tmp_path)._wait("munged", lambda: False, seconds=0)

    said = str(failed.value).splitlines()
    assert said[:3] == ["no munged after 0 s", "munged.out:", "  munged: cannot bind"]
    assert said[3:] == ["slurmctld.log:", *(f"  line {n}" for n in range(2, 12))]
