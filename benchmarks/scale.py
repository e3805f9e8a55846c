"""Measures each rule's time, CPU time, memory and bytes as the corpora grow, with the slopes.

    .venv/bin/python benchmarks/scale.py [--base 8000] [--sizes 1 4 16] [--markdown docs/scale.md]

Runs the real workflow on the demo's world, with BASE images times each of the sizes in the large
corpus, and the posters and clusters of deduplication multiplied likewise; all other corpora and
settings are unchanged. The encoder is the demo's own, trained once; `train` is one more training
run, on everything that grew. Values come from the lineage records: sums over all jobs of a rule on
the corpora that grow (for memory the maximum). They exclude the start of processes and Snakemake's
own time; the last lines have these, and the making of the images. A slope is that of the
logarithms, by least squares: 1 is linear, 2 quadratic, 0 constant. Each size has its own store.
"""

import argparse
import math
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression

import duckdb
import yaml
from workingcopy import Ran, WorkingCopy, working_copy

from clipaudit.store.packing import register_records
from clipaudit.store.records import Record, read_records
from clipaudit.store.store import Store

DEMO_PICTURES, LARGE_SHARDS, POSTER_SHARDS = 8_000, 16, 4
CLUSTERS = 16  # the demo's; a job handles 8
WEIGHTS = Path("results/models/base/large.safetensors")  # where the demo trains them
SHARDS_PER_PART = {"large": 8, "posters": 4}  # the demo's: a job stays as large as it is
STAGES = {  # targets; a folder means all its parts
    "index": ["samples/large/", "samples/posters/"],
    "embed": ["embeddings/own/large/"],
    "nearest": ["neighbors/own/large.json"],
    "dedup": ["manifests/large/deduplicated/"],
    "gap": ["manifests/large/deduplicated.sketch-pruned/"],
    "prune": ["manifests/large/deduplicated.sketch-near-50pct/"],
    "train": ["models/base/large.json"],
    "spot": ["spans/posters/"],
    "match": ["matches/posters/"],
    "place": ["placed/own/posters/"],
    "score": ["caption_scores/own/posters/"],
    "count": ["grams/posters/captions-1/"],
}


@dataclass(frozen=True)
class Taken:
    """What the jobs of a rule took at one size."""

    jobs: int
    seconds: float
    cpu_seconds: float
    peak_memory_mb: float
    bytes: float


MEASURES: Mapping[str, Callable[[Taken], float]] = {
    "wall-clock seconds": lambda taken: taken.seconds,
    "seconds of processors": lambda taken: taken.cpu_seconds,
    "peak memory, MB": lambda taken: taken.peak_memory_mb,
    "bytes written, kB": lambda taken: taken.bytes / 1000,
    "jobs": lambda taken: taken.jobs,
}


def main() -> None:
    """Run the benchmark; see the module."""
    asked = parse()
    with tempfile.TemporaryDirectory() as spare:
        project = working_copy(asked.folder or Path(spare))
        project.snakemake("--", str(WEIGHTS.with_suffix(".json")))
        found, runs = {}, {}
        for size in asked.sizes:
            settings = write_settings(project, asked.base, size)
            run = ["--configfile", settings, "--", *targets(asked.stages, size)]
            runs["the run"] = {**runs.get("the run", {}), size: project.snakemake(*run)}
            again = project.snakemake(*run)
            runs["nothing to do"] = {**runs.get("nothing to do", {}), size: again}
            found[size] = taken_by_rule(Store(project.folder / f"store_{size}"))
    text = "\n".join(report(asked.base, found, runs))
    print(text)
    if asked.markdown:
        write_between_marks(asked.markdown, text)


def whole_path(name: str) -> Path:
    """Return a path that stays the same when the benchmark changes its folder."""
    return Path(name).absolute()


def parse() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=int, default=DEMO_PICTURES, help="images at size 1")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--folder", type=whole_path, help="where to run; its data are used again")
    parser.add_argument("--markdown", type=whole_path, help="page whose measured part is replaced")
    return parser.parse_args()


# --- the runs ----------------------------------------------------------------------------------


def write_settings(project: WorkingCopy, base: int, size: int) -> str:
    """Write the settings of one size and return their path in the folder of the project."""
    demo_posters = 448 * base / DEMO_PICTURES
    held = {"large": base // LARGE_SHARDS, "posters": max(1, round(demo_posters))}
    shards = {"large": LARGE_SHARDS * size, "posters": POSTER_SHARDS * size}
    settings = {
        "extends": "config/demo.yaml",
        "results": f"results_{size}",
        "store": f"store_{size}",
        "worlds": {
            "glyph": {"corpora": {name: {"samples_per_shard": many} for name, many in held.items()}}
        },
        "corpora": {
            name: {
                "shards": f"data/glyph/{name}/{{00000..{many - 1:05}}}.tar",
                "shards_per_part": SHARDS_PER_PART[name],
            }
            for name, many in shards.items()
        },
        "encoders": {"own": {"model": None, "architecture": "tiny", "pretrained": str(WEIGHTS)}},
        "similarity": {"deduplication": {"clusters": CLUSTERS * size}},
        "memorization": None,
        "parrot": {
            "corpora": ["posters"],
            "encoder": "own",
            "encoders": [],
            "curations": None,
            "deduplication": None,
            "test_sets": [],
            "retrieval": [],
        },
    }
    name = f"scale_{size}.yaml"
    (project.folder / name).write_text(yaml.safe_dump(settings))
    return name


def targets(stages: Sequence[str], size: int) -> Iterator[str]:
    """Yield the pointers that the stages end in."""
    parts = {
        "large": math.ceil(LARGE_SHARDS * size / SHARDS_PER_PART["large"]),
        "posters": math.ceil(POSTER_SHARDS * size / SHARDS_PER_PART["posters"]),
    }
    for path in (path for stage in stages for path in STAGES[stage]):
        if not path.endswith("/"):
            yield f"results_{size}/{path}"
            continue
        corpus = "posters" if "/posters/" in path else "large"
        yield from (f"results_{size}/{path}{part:05}.json" for part in range(parts[corpus]))


# --- what was recorded -------------------------------------------------------------------------


def taken_by_rule(store: Store) -> dict[str, Taken]:
    """Return what the records of a store say of the corpora that grow, by rule."""
    with duckdb.connect() as connection:
        register_records(connection, store)
        actions = [key for (key,) in connection.execute("select action from records").fetchall()]
    by_rule: dict[str, list[Record]] = defaultdict(list)
    for record in read_records(store, actions).values():
        if not SHARDS_PER_PART.keys().isdisjoint(record.wildcards.values()):
            by_rule[record.ingredients.step].append(record)
    return {rule: _sum(records) for rule, records in sorted(by_rule.items())}


def _sum(records: Sequence[Record]) -> Taken:
    ran = [record.execution for record in records]
    outputs = [output.pointer.bytes for record in records for output in record.outputs.values()]
    return Taken(
        len(records),
        sum(each.seconds for each in ran),
        sum(each.cpu_seconds or 0.0 for each in ran),
        max(each.peak_memory_mb for each in ran),
        sum(outputs),
    )


def slope(values: Mapping[int, float]) -> str:
    """Return the slope of the logarithms of values over sizes; "" if there is none."""
    points = [(math.log(size), math.log(value)) for size, value in values.items() if value > 0]
    if len(points) < 2:
        return ""
    return f"{linear_regression([x for x, _ in points], [y for _, y in points])[0]:.2f}"


# --- the report --------------------------------------------------------------------------------


def report(
    base: int,
    found: Mapping[int, Mapping[str, Taken]],
    runs: Mapping[str, Mapping[int, Ran]],
) -> Iterator[str]:
    """Yield the tables, a measure each, as Markdown."""
    rules = sorted({rule for taken in found.values() for rule in taken})
    for name, measure in MEASURES.items():
        rows = {
            rule: {size: measure(taken[rule]) for size, taken in found.items() if rule in taken}
            for rule in rules
        }
        yield from _table(name, base, list(found), rows)
    for name, value in (
        ("Snakemake: wall-clock seconds", lambda ran: ran.seconds),
        ("Snakemake: peak memory of it or a job, MB", lambda ran: float(ran.peak_memory_mb)),
    ):
        rows = {
            run: {size: value(ran) for size, ran in ran_at.items()} for run, ran_at in runs.items()
        }
        yield from _table(name, base, list(found), rows)


def _table(
    name: str, base: int, sizes: Sequence[int], rows: Mapping[str, Mapping[int, float]]
) -> Iterator[str]:
    yield f"| {name} | " + " | ".join(f"{base * size:,} images" for size in sizes) + " | slope |"
    yield "|---" * (len(sizes) + 2) + "|"
    for row, values in rows.items():
        cells = [_number(values[size]) if size in values else "" for size in sizes]
        yield f"| {row} | " + " | ".join(cells) + f" | {slope(values)} |"
    yield ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def write_between_marks(page: Path, text: str, what: str = "measured") -> None:
    """Replace the part of a page between `<!-- WHAT -->` and `<!-- end of WHAT -->`."""
    start, end = f"<!-- {what} -->\n", f"<!-- end of {what} -->\n"
    before, mark, rest = page.read_text().partition(start)
    assert mark, f"{page} has no line {start.strip()}"
    page.write_text(f"{before}{start}{text}\n{end}{rest.partition(end)[2]}")


if __name__ == "__main__":
    main()
