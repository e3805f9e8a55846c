"""Scaling laws: what each workflow script's time and outputs grow with.

Each law gives its reason; those of the audits' own scripts are in their modules `laws`. A law gives
only the form; the rate is measured (clipaudit.lineage.planning.rates). A script without a law grows
with all rows that it reads, as merges, manifests and SQL do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import prod

from clipaudit.config.audits import audits, plugged_among, said_by
from clipaudit.deduplication.fixed import LEAST_ROWS
from clipaudit.plaindata import Json

EMBEDDING_INPUTS = ("embeddings", "train", "captions", "clustered")  # inputs of embeddings


@dataclass(frozen=True)
class Reading:
    """What a job reads: the rows and number of files of each input, and the settings.

    `sharers` jobs, including itself, read the same files, each its own share of the rows.
    `dimension` is that of the embeddings that it reads or gives, 0 if unknown.
    """

    rows: Mapping[str, float]
    files: Mapping[str, int]
    settings: Json
    sharers: int = 1
    dimension: int = 0


Measure = Callable[[Reading], float]


@dataclass(frozen=True)
class Law:
    """What a script's time, in `unit`s, and its outputs' rows grow with, and `why`.

    time      what its time grows with
    gives     by output, what its rows grow with; for others `gives_else`, or the time's measure
    one_name  whether its outputs have the names of test sets or the like, and count as one kind
    counted   outputs whose rows together are those of the user's files that it reads
    carries   the input whose rows its output stands for, if the output is not a table
    shared    the input that sibling jobs read too, each a share of it
    adopts    whether its outputs are objects that were already in the store
    compares  whether its time also grows with the dimension of embeddings
    wide      outputs whose bytes grow with that dimension
    weighs    whether its outputs are models, whose bytes depend on the architecture
    keeps     the rows that its manifests of all parts keep together, if its settings state them
    """

    time: Measure
    unit: str
    why: str
    gives: Mapping[str, Measure] = field(default_factory=dict)
    gives_else: Measure | None = None
    one_name: bool = False
    counted: tuple[str, ...] = ()
    carries: str = ""
    shared: str = ""
    adopts: bool = False
    compares: bool = False
    wide: tuple[str, ...] = ()
    weighs: bool = False
    keeps: Callable[[Json], float | None] = lambda _: None

    def work(self, reading: Reading) -> float:
        """Return the work of a job, in units."""
        return self.time(reading) * (reading.dimension if self.compares else 1)

    def rows(self, output: str, reading: Reading) -> float:
        """Return what the rows of an output grow with."""
        return self.gives.get(output, self.gives_else or self.time)(reading)

    def size(self, output: str, reading: Reading) -> float:
        """Return what the bytes of an output grow with."""
        factor = reading.dimension if output in self.wide else 1
        return self.rows(output, reading) * factor


# --- measures ----------------------------------------------------------------------------------


def one(reading: Reading) -> float:
    """Return 1: all jobs count the same."""
    return 1.0


def all_rows(reading: Reading) -> float:
    """Return the rows of all inputs."""
    return float(sum(reading.rows.values()))


def rows(name: str) -> Measure:
    """Return the measure of the rows of one input."""
    return lambda reading: reading.rows.get(name, 0.0)


def pairs(*names: str) -> Measure:
    """Return the measure of all pairs of a row of one input and a row of another."""
    return lambda reading: float(prod(reading.rows.get(name, 0.0) for name in names))


def rows_a_file(name: str) -> Measure:
    """Return the measure of the rows of one file of an input, as for a merge of equal tables."""
    return lambda reading: reading.rows.get(name, 0.0) / max(1, reading.files.get(name, 1))


def _own_share(reading: Reading) -> float:
    return reading.rows.get("clustered", 0.0) / reading.sharers


def _pairs_within_clusters(reading: Reading) -> float:
    clusters = reading.rows.get("centroids", 0.0) / reading.settings["group"][1]
    return float(_own_share(reading) ** 2 / max(1.0, clusters))


def _seen(reading: Reading) -> float:
    return reading.rows.get("sealed", 0.0) * float(reading.settings["recipe"]["epochs"])


def kmeans_clusters(settings: Json, read: float) -> float:
    """Return the number of clusters of a k-means over the rows read."""
    most = float(settings["clusters"])
    return min(most, max(1.0, read // LEAST_ROWS)) if settings.get("follow") else most


def lloyd(settings: Json, read: float) -> float:
    """Return the number of products of a k-means over a sample of the rows read."""
    clusters = kmeans_clusters(settings, read)
    sample = min(read, clusters * float(settings["samples_per_cluster"]))
    repeated = float(settings["iterations"]) * float(settings.get("redo", 1))
    return sample * clusters * repeated


# --- the laws ----------------------------------------------------------------------------------

ALL_ROWS = Law(all_rows, "rows", "each row is read once")
EACH_SAMPLE = Law(rows("samples"), "samples", "each sample by itself")
EACH_ROW = Law(rows("base"), "rows", "each row of the base, which stays a row of the result")
SUMMED = Law(all_rows, "rows", "goes through all rows, and gives a few numbers", gives_else=one)
DRAWN = Law(one, "jobs", "shows a number of images that the settings fix")
TESTED = Law(
    rows("samples"), "samples", "each test image through the model", gives_else=rows("samples"),
    one_name=True,
)  # fmt: skip
_TRAINED = Law(
    _seen,
    "samples seen",
    "rows of the manifest times epochs; which rows it keeps is not known before the run, so all "
    "count: the share that is kept is taken to be that of the recorded trainings",
    gives={
        "model": one,
        "epochs": lambda reading: float(len(reading.settings.get("kept_epochs", ()))),
    },
    weighs=True,
)
_EMBEDDED = Law(rows("samples"), "samples", "each sample by itself", wide=("embeddings",))

_LAWS: Mapping[str, Law] = {
    "index": Law(
        rows("tars"),
        "samples",
        "each file of a shard is read once",
        gives={"shards": lambda reading: float(len(reading.settings["shards"]))},
        counted=("samples", "drops"),
    ),
    "seal": Law(all_rows, "rows", "each row of the manifests", carries="manifests"),
    # embeddings
    "embed": _EMBEDDED,
    "take_embeddings": _EMBEDDED,
    "split_embeddings": _EMBEDDED,
    "embed_captions": _EMBEDDED,
    "check_encoder": SUMMED,
    "map_vectors": Law(
        one,
        "jobs",
        "places as many samples as the settings say; a few parts are read for them",
    ),
    # deduplication
    "deduplicate": EACH_ROW,
    "centroids": Law(
        lambda reading: lloyd(reading.settings, all_rows(reading)),
        "products",
        "k-means: sample times clusters times iterations; the reading of all rows is small to it",
        gives_else=lambda reading: kmeans_clusters(reading.settings, all_rows(reading)),
        compares=True,
        wide=("centroids",),
    ),
    "assign": Law(
        pairs("embeddings", "centroids"),
        "products",
        "every sample against every centroid",
        gives_else=rows("embeddings"),
        compares=True,
        wide=("clustered",),
    ),
    "duplicates": Law(
        _pairs_within_clusters,
        "products",
        "all pairs within each cluster, the clusters taken to be of equal size",
        gives_else=_own_share,
        shared="clustered",
        compares=True,
    ),
    # models
    "train": _TRAINED,
    "train_supervised": _TRAINED,
    "checkpoint": Law(one, "jobs", "names an object that the training stored", adopts=True),
    "evaluate": TESTED,
    "classify": TESTED,
    # report
    "report_table": SUMMED,
    "draw_table": SUMMED,
    "draw_figure": SUMMED,
}  # fmt: skip


@cache
def laws() -> Mapping[str, Law]:
    """Return the laws of all scripts that have one, including the audits' scripts."""
    found = dict(_LAWS)
    for audit in audits():
        found |= said_by(audit, "laws", "LAWS")
    return found


@cache
def _plugged_laws(plugged: str) -> Mapping[str, Law]:
    (*_, audit) = audits([plugged])
    found: Mapping[str, Law] = said_by(audit, "laws", "LAWS", {})
    return found


def law_of(script: str) -> Law:
    """Return the law of a workflow script."""
    found = laws().get(script)
    if found is None:
        for plugged in plugged_among([script]):
            found = _plugged_laws(plugged).get(script)
    return found or ALL_ROWS
