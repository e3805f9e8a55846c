"""Runs thousands of jobs of the real workflow to the end, on shards of a few samples.

    .venv/bin/python benchmarks/manyjobs.py [--shards 120] [--samples 8] [--folder FOLDER]

It is the micro world's similarity audit with one part per shard of the large corpus: the graph has
the shape of a run of as many parts, and every job runs, including the few training runs. Then the
same runs again, with nothing to do, and once more with results/ removed, so that each job takes its
result from the store. Jobs run in forks of one warm process (benchmarks/zygote.py), since otherwise
only their imports would be measured; `--cold` starts a Python for each, as Snakemake does. Prints
jobs, seconds and memory of each run.
"""

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml
from workingcopy import Ran, WorkingCopy, working_copy

ZYGOTE = (sys.executable, str(Path(__file__).with_name("zygote.py").absolute()))
_STEPS = re.compile(r"(\d+) of (\d+) steps \(100%\) done")


def main() -> None:
    """Run the benchmark; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--shards", type=int, default=120, help="of the large corpus, a part and 18 jobs each"
    )
    parser.add_argument("--samples", type=int, default=8, help="of a shard")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to run, instead of a temporary folder")
    parser.add_argument("--cold", action="store_true", help="start a Python for each job")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        project = working_copy(asked.folder or Path(spare))
        settings = write_settings(project, asked.shards, asked.samples)
        program = () if asked.cold else ZYGOTE
        run = ["--configfile", settings, "--", "all_tables"]
        show("all jobs", project.snakemake(*run, cores=asked.cores, program=program))
        show("the same again", project.snakemake(*run, cores=asked.cores, program=program))
        shutil.rmtree(project.folder / "results_micro")
        show("from the store", project.snakemake(*run, cores=asked.cores, program=program))


def write_settings(project: WorkingCopy, shards: int, samples: int) -> str:
    """Write the settings and return their path in the folder of the project."""
    settings = {
        "extends": "config/micro.yaml",
        "worlds": {"micro": {"corpora": {"large": {"samples_per_shard": samples}}}},
        "corpora": {
            "large": {
                "shards": f"data/micro/large/{{00000..{shards - 1:05}}}.tar",
                "shards_per_part": 1,
            }
        },
    }
    (project.folder / "manyjobs.yaml").write_text(yaml.safe_dump(settings))
    return "manyjobs.yaml"


def jobs_of(ran: Ran) -> int:
    """Return how many jobs a run says it has done; the target counts as one."""
    done: Sequence[str] = _STEPS.findall(ran.printed)[-1:] and _STEPS.findall(ran.printed)[-1]
    return int(done[0]) if done else 0


def show(name: str, ran: Ran) -> None:
    """Print what a run took."""
    print(
        f"{name}: {jobs_of(ran):,} jobs, {ran.seconds:,.1f} s, {ran.peak_memory_mb:,} MB at most",
        flush=True,
    )


if __name__ == "__main__":
    main()
