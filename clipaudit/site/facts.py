"""What the report says about the run itself: data, models, dropped samples and cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from clipaudit.catalog.tables import view_columns
from clipaudit.config.embeddings import unchecked
from clipaudit.config.pictures import left_out
from clipaudit.config.settings import Settings
from clipaudit.corpora.reasons import DAMAGED, TRUNCATED
from clipaudit.plaindata import Json, Row
from clipaudit.plaintext import plain
from clipaudit.reports.layouts import count, counted

Graph = Json  # of clipaudit.lineage.graph
Line = tuple[object, ...]  # a line of a plain table

EXAMPLES = 20  # samples listed for each drop reason
SLOWEST = 20  # jobs listed
_TRAINING_STEPS = {"train": "CLIP", "train_supervised": "classifier"}


@dataclass(frozen=True)
class Drop:
    """Samples of one corpus that one stage left out for one reason."""

    view: str
    stage: str
    corpus: str
    reason: str
    samples: int
    examples: tuple[Line, ...]  # shard, row, key, detail; the first by address

    @property
    def sentence(self) -> str:
        """Return how many samples of which corpus were left out, and why."""
        return drop_sentence(self.samples, self.corpus, self.reason)


def drop_sentence(samples: int, corpus: str, reason: str) -> str:
    """Return the sentence about drops, for the terminal and the report.

    >>> drop_sentence(150, "train", "corrupt image")
    '150 samples of train were left out: corrupt image'
    >>> drop_sentence(2, "train", "truncated tar")
    '2 files of train end early, and how many samples are missing is unknown: truncated tar'
    """
    if reason in (TRUNCATED, DAMAGED):  # one drop in each file
        ends = "ends" if samples == 1 else "end"
        return (
            f"{counted(samples, 'file')} of {corpus} {ends} early, and how many samples are "
            f"missing is unknown: {reason}"
        )
    were = "was" if samples == 1 else "were"
    return f"{counted(samples, 'sample')} of {corpus} {were} left out: {reason}"


# --- data and models ---------------------------------------------------------------------------


def run_facts(run: Settings, connection: duckdb.DuckDBPyConnection, graph: Graph) -> dict[str, Any]:
    """Return facts about a run: a summary by name, lines of corpora and models, versions.

    `left_out` has sentences that say what the audits omit, and why. Sample counts cover indexed
    samples. A split has a line but is not counted, since another corpus holds its samples. A
    corpus that no step has read has no count.
    """
    actions = graph["actions"].values()
    samples = samples_of(connection)
    named = [name for name in run.corpora if "." not in name or name in samples]
    corpora = tuple(
        (run.title(name), name, _split_of(run, name), len(run.shards(name)), samples.get(name))
        for name in named
    )
    whole = [name for name in named if not run.corpora[name].is_split]
    splits = len(named) - len(whole)
    further = f", and splits of them: {count(splits)}" if splits else ""
    trained = [action for action in actions if action["step"] in _TRAINING_STEPS]
    hosts = sorted({plain(action["host"]) for action in actions})
    dates = sorted(action["started"][:10] for action in actions)
    summary = {
        "Audits": ", ".join(enabled(run)) or "none",
        "Corpora": f"{count(len(whole))}{further}",
        "Samples": count(sum(samples.get(name, 0) for name in whole)),
        "Models trained": count(len(trained)),
        "Jobs": count(len(graph["actions"])),
    }
    if dates:
        summary["Computed"] = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
        summary["On"] = ", ".join(hosts)
    return {
        "summary": summary,
        "left_out": list(map(plain, [*left_out(run), *unchecked(run)])),
        "corpora": corpora,
        "models": sorted(map(_model, trained)),
        "versions": _versions(graph),
    }


def _split_of(run: Settings, name: str) -> str:
    return run.title(run.source(name)) if run.corpora[name].is_split else ""


def enabled(run: Settings) -> list[str]:
    """Return the names of the audits that a run enables."""
    return [audit.name for audit, _ in run.audits()]


def samples_of(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return how many samples of each corpus could be indexed."""
    return _by_corpus(connection, "samples")


def shards_of(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return how many shards of each corpus were indexed; splits have none of their own."""
    return _by_corpus(connection, "shards")


def _by_corpus(connection: duckdb.DuckDBPyConnection, view: str) -> dict[str, int]:
    if "corpus" not in view_columns(connection).get(view, ()):
        return {}
    query = f"select corpus, count(*) from {view} where corpus is not null group by corpus"
    return dict(connection.execute(query).fetchall())


def _model(action: Json) -> tuple[str, str, str, float]:
    labels = action["labels"]
    recipe, manifest = labels.get("recipe", ""), labels.get("manifest", "")
    return plain(recipe), plain(manifest), _TRAINING_STEPS[action["step"]], action["seconds"]


def _versions(graph: Graph) -> dict[str, str]:
    """Return the versions of the loaded libraries; several if jobs differ."""
    found: dict[str, set[str]] = {}
    for action in graph["actions"].values():
        for name, version in action["versions"].items():
            found.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(versions)) for name, versions in sorted(found.items())}


# --- drops -------------------------------------------------------------------------------------


def drops(connection: duckdb.DuckDBPyConnection) -> list[Drop]:
    """Return the samples that stages could not use, by stage, corpus and reason."""
    return [
        drop
        for view, columns in view_columns(connection).items()
        if view.startswith("drops_")
        for drop in _drops(connection, view, columns)
    ]


def _drops(connection: duckdb.DuckDBPyConnection, view: str, columns: Sequence[str]) -> list[Drop]:
    named = [name for name in ("corpus", "source") if name in columns]
    corpus = f"coalesce({', '.join(named)})" if named else "''"
    found = connection.execute(
        f"select stage, {corpus} as of, reason, count(*), "
        "list({'shard': shard, 'row': row, 'key': key, 'detail': detail} order by shard, row)"
        f"[:{EXAMPLES}] from {view} group by all order by all"
    ).fetchall()
    return [
        Drop(view, plain(stage), plain(of), plain(reason), number, tuple(map(_example, examples)))
        for stage, of, reason, number, examples in found
    ]


def _example(sample: Row) -> Line:
    key, detail = (plain(sample[name] or "") for name in ("key", "detail"))
    return sample["shard"], sample["row"], key, detail


# --- cost --------------------------------------------------------------------------------------


def run_cost(graph: Graph, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return the cost of the jobs when they ran: totals by name, and lines of tables.

    The lines list steps, costliest first, the slowest jobs, and training runs by epochs.
    """
    actions = list(graph["actions"].values())
    steps: dict[str, list[Json]] = {}
    for action in actions:
        steps.setdefault(action["step"], []).append(action)
    ordered = sorted(steps.items(), key=lambda step: (-_cpu_seconds(step[1]), step[0]))
    slowest = sorted(actions, key=lambda action: -action["seconds"])[:SLOWEST]
    memory = max((action["peak_memory_mb"] for action in actions), default=0)
    return {
        "totals": {
            "Jobs": count(len(actions)),
            "Time, all jobs": _hours(sum(action["seconds"] for action in actions)),
            "CPU time, all jobs": _hours(_cpu_seconds(actions)),
            "Peak memory of a job": f"{count(memory)} MB",
        },
        "steps": [(name, *_step_cost(group)) for name, group in ordered],
        "slowest": list(map(_job, slowest)),
        "epochs": _epochs(connection),
    }


def _cpu_seconds(actions: Sequence[Json]) -> float:
    return sum(float(action["seconds"] * action["threads"]) for action in actions)


def _step_cost(actions: Sequence[Json]) -> Line:
    seconds = [float(action["seconds"]) for action in actions]
    memory = max(action["peak_memory_mb"] for action in actions)
    times = (sum(seconds), _cpu_seconds(actions), max(seconds))
    return len(actions), *(round(time, 1) for time in times), memory


def _job(action: Json) -> Line:
    what = ", ".join(f"{name} {plain(value)}" for name, value in action["labels"].items())
    taken = (action["seconds"], action["threads"], action["peak_memory_mb"])
    return action["step"], what, *taken, f"{action['started'][:19]}Z", plain(action["host"])


def _hours(seconds: float) -> str:
    """Return a time in seconds, minutes or hours.

    >>> _hours(42.34), _hours(800), _hours(7200)
    ('42.3 s', '13.3 min', '2.0 h')
    """
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _epochs(connection: duckdb.DuckDBPyConnection) -> tuple[Line, ...]:
    if "epoch" not in view_columns(connection).get("epochs", ()):
        return ()
    query = (
        "select recipe, manifest, max(epoch) + 1, round(sum(seconds) / (max(epoch) + 1), 2) "
        "from epochs group by recipe, manifest order by recipe, manifest"
    )
    return tuple(connection.execute(query).fetchall())
