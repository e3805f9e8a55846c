"""A process that runs real steps at random, like jobs of a workflow, for test_collection.

    python churn.py FOLDER SEED SECONDS

Prints how many steps it ran, how many of them computed, and `BROKEN ...` for each pointer that did
not resolve right after it was placed.
"""

import random
import sys
import time
from pathlib import Path

import pyarrow as pa

from clipaudit.steps.step import Step
from clipaudit.store.store import Pointer

KEYS = 40  # different actions; fewer contents, so that objects are shared
CONTENTS = 20
SLOW = 0.7  # seconds at most that a step is slowed; below the collections' grace period
SCHEMA = pa.schema([pa.field("number", pa.int64(), nullable=False)])


class Params(dict):
    code = "0" * 64


class Job:
    """The job that Snakemake passes to a script: action `number`, placed at pointers `place`."""

    rule = "keep_all"
    threads = 1

    def __init__(self, folder, number, place):
        results = folder / f"results_{place % 2}"
        self.params = Params(code=Params.code, number=number)
        self.config = {"results": str(results), "store": str(folder / "store")}
        self.resources, self.input = {}, {}
        self.output = {name: str(results / f"stage/{place}.{name}.json") for name in ("a", "b")}
        self.wildcards = {"place": str(place)}


class SlowStep(Step):
    """A step that runs slowly at points where a collection could do harm."""

    def compute(self, rng):
        self.computed = True
        number = self.settings["number"] % CONTENTS
        self.write_table("a", pa.table({"number": [number] * 100}, SCHEMA), SCHEMA)
        time.sleep(rng.choice([0, rng.random() * SLOW]))
        self.write_bytes("b", f"bytes {(number + 5) % CONTENTS}".encode(), ".txt")

    def _place(self, path, name, output):
        time.sleep(self.slowness)
        super()._place(path, name, output)


def churn(folder, seed, seconds):
    """Run steps at this process's places, removing their pointers first as Snakemake does."""
    rng, ends = random.Random(seed), time.monotonic() + seconds
    ran, computed, broken = 0, 0, []
    while time.monotonic() < ends:
        job = Job(folder, rng.randrange(KEYS), seed * 100 + rng.randrange(6))
        for path in job.output.values():
            Path(path).unlink(missing_ok=True)
        if rng.random() < 0.4:
            continue  # the pointers stay removed: their objects may become garbage
        step = SlowStep(job)
        step.computed, step.slowness = False, rng.choice([0, rng.random() * SLOW / 2])
        step.run(lambda step: step.compute(rng))
        ran, computed = ran + 1, computed + step.computed
        faults = [step.store.fault(Pointer.read(Path(path))) for path in job.output.values()]
        broken += [f"{job.output}: {fault}" for fault in faults if fault]
    return ran, computed, broken


if __name__ == "__main__":
    ran, computed, broken = churn(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
    print(ran, computed, *(f"BROKEN {each}" for each in broken))
