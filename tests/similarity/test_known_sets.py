"""The step `nearest`, by its own script: which test sets it searches, and that its bytes repeat."""

import json
import runpy
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from clipaudit.similarity.nearest import NEIGHBORS
from clipaudit.steps.workflow import THREAD_VARIABLES, code
from clipaudit.store.parquet import write_tables
from clipaudit.store.placements import Placement, place
from clipaudit.store.store import Pointer, Store, replace_text

SCRIPT = Path(__file__).parents[2] / "workflow_scripts/nearest.py"
SIZES = {"val": 5, "sketch": 7, "paintings": 4, "nothing": 0}
OF_ALL = ["val", "sketch", "paintings"]


def embeddings(rows, seed):
    """EMBEDDINGS of some rows in two shards; halves, so that there are ties."""
    vectors = np.random.default_rng(seed).choice([-0.5, 0.5], size=(rows, 4)).astype(np.float16)
    place = np.arange(rows)
    column = pa.array([vector.tobytes() for vector in vectors], pa.binary(8))
    columns = {"shard": (place >= rows // 2).astype("i4"), "row": place.astype("i4")}
    return pa.table({**columns, "embedding": column})


def gaps(**of_sets):
    """NEIGHBORS at rank 0: the gap of each sample of some test sets."""
    rows = [
        {"testset": name, "test_shard": int(row >= SIZES[name] // 2), "test_row": row, "rank": 0}
        | {"similarity": gap, "shard": 0, "row": 0}
        for name, gap in of_sets.items()
        for row in range(SIZES[name])
    ]
    return pa.Table.from_pylist(rows, schema=NEIGHBORS)


class World:
    """A store, a part of a corpus, test sets and gaps, and the jobs that search the part."""

    def __init__(self, folder):
        self.folder, self.store, self.results = folder, Store(folder / "store"), folder / "results"
        self.train = self.put("large", embeddings(90, 0))
        self.tests = {
            name: self.put(name, embeddings(size, 1 + size)) for name, size in SIZES.items()
        }
        self.gaps = self.put("gaps", gaps(val=0.0, sketch=0.5, paintings=0.0, nothing=0.0))

    def put(self, name, table):
        path = self.results / "given" / f"{name}.json"
        write = lambda file: write_tables([table], table.schema, file)  # noqa: E731
        pointer = self.store.put(write, schema="given")
        place(self.results, path, Placement("a" * 64, "given", {"corpus": name}))
        replace_text(path, pointer.to_json())
        return str(path)

    def search(self, *test_sets, neighbors=3, threads=1, **resources):
        """Run the job's script; return the share that was searched, and what is in the tables."""
        job = Job(self, test_sets, neighbors, threads, resources)
        before = self.records()
        runpy.run_path(str(SCRIPT), init_globals={"snakemake": job})
        (new,) = self.records() - before or {None}
        share = new and json.loads(new.read_text())["execution"]["share"]
        pointers = [Pointer.read(Path(path)) for path in job.output.values()]
        return share, [self.store.path(pointer.digest).read_bytes() for pointer in pointers]

    def records(self):
        return set((self.store.root / "lineage").glob("??/*/*.json"))


class Job:
    """What Snakemake hands to the script."""

    rule, log, wildcards = "nearest", None, {"corpus": "large", "part": "00000"}

    def __init__(self, world, test_sets, neighbors, threads, resources):
        settings = {"test_sets": list(test_sets), "neighbors": neighbors, "margin": 0.0}
        self.params = type("Params", (dict,), {"code": code("nearest")})(settings)
        self.config = {"results": str(world.results), "store": str(world.store.root)}
        tests = [world.tests[name] for name in test_sets]
        self.input = {"train": world.train, "tests": tests, "gaps": world.gaps}
        names = ("similarities", "neighbors")
        self.output = {name: str(world.results / name / "large/00000.json") for name in names}
        self.threads, self.resources = threads, resources


@pytest.fixture(autouse=True)
def _own_threads(monkeypatch):
    """Restore these after the test: the script sets them in the process of the tests."""
    for variable in THREAD_VARIABLES:
        monkeypatch.setenv(variable, "1")


@pytest.fixture
def world(tmp_path):
    return World(tmp_path / "world")


@pytest.fixture
def at_once(tmp_path):
    """A function: the tables of one search for some test sets, with an empty store."""

    def search(*test_sets, gaps=None):
        other = World(tmp_path / f"other{len(list(tmp_path.iterdir()))}")
        other.gaps = other.gaps if gaps is None else other.put("gaps", gaps)
        share, tables = other.search(*test_sets)
        assert share == 1
        return tables

    return search


def test_only_an_added_test_set_is_searched(world, at_once, caplog):
    caplog.set_level("INFO")
    world.search("val", "sketch")

    share, tables = world.search(*OF_ALL)

    assert share == SIZES["paintings"] / 16
    assert "2 of 3 test sets are taken" in caplog.text
    assert "searched now: paintings" in caplog.text
    assert tables == at_once(*OF_ALL)


@pytest.mark.parametrize("test_sets", [["sketch", "val"], ["sketch"]])
def test_another_order_or_fewer_test_sets_need_no_search(world, at_once, test_sets):
    world.search("val", "sketch")

    share, tables = world.search(*test_sets)

    assert share == 0
    assert tables == at_once(*test_sets)


def test_only_a_test_set_with_a_changed_gap_is_searched(world, at_once):
    world.search(*OF_ALL)
    changed = gaps(val=0.0, sketch=0.0, paintings=0.0)
    world.gaps = world.put("gaps", changed)

    share, tables = world.search(*OF_ALL)

    assert share == SIZES["sketch"] / 16
    assert tables == at_once(*OF_ALL, gaps=changed)
    assert tables != at_once(*OF_ALL)


def test_only_a_test_set_with_changed_embeddings_is_searched(world):
    world.search("val", "sketch")
    world.tests["val"] = world.put("val", embeddings(SIZES["val"], 9))

    share, _ = world.search("val", "sketch")

    assert share == SIZES["val"] / 12


def test_test_sets_from_several_earlier_searches_are_combined(world, at_once):
    for name in ("paintings", "val"):
        world.search(name)

    share, tables = world.search(*OF_ALL, block_rows=7)

    assert share == SIZES["sketch"] / 16
    assert tables == at_once(*OF_ALL)


def test_a_test_set_without_samples_is_neither_stored_nor_searched(world, at_once):
    assert world.search("nothing")[0] == 0
    world.search("val")

    share, tables = world.search("val", "nothing", "sketch")

    assert share == SIZES["sketch"] / 12
    assert tables == at_once("val", "sketch")


@pytest.mark.parametrize("name", ["train", "neighbors"])
def test_another_part_or_number_of_neighbours_needs_a_full_search(world, name):
    world.search("val", "sketch")
    world.train = world.put("large", embeddings(90, 9)) if name == "train" else world.train

    share, _ = world.search("sketch", "val", neighbors=2 if name == "neighbors" else 3)

    assert share == 1


@pytest.mark.parametrize("changed", [{"threads": 2}, {"block_rows": 5}, {"backend": "torch"}])
def test_earlier_searches_are_reused_for_any_way_of_running(world, at_once, changed):
    world.search("val", "sketch")

    share, tables = world.search(*OF_ALL, **changed)

    assert share == SIZES["paintings"] / 16
    assert tables == at_once(*OF_ALL)


def test_test_sets_without_earlier_tables_are_searched_again(world, at_once, caplog):
    world.search("val", "sketch")
    shutil.rmtree(world.store.root / "objects")
    world = World(world.folder)  # the inputs, once more

    share, tables = world.search(*OF_ALL)

    assert share == 1
    assert "cannot be used: the object is missing" in caplog.text
    assert tables == at_once(*OF_ALL)
