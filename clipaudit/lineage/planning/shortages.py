"""Detect settings that need more samples than a corpus can have, before the first job.

The largest possible number of samples is known if a world makes the shards, if the files are
Parquet, if img2dataset wrote statistics beside its tars, or if an earlier run indexed them.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from clipaudit.config.audits import Asked
from clipaudit.config.settings import Settings
from clipaudit.errors import ClipauditError, ConfigError
from clipaudit.remote.urls import is_url
from clipaudit.steps import paths
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.placements import placement
from clipaudit.store.records import read_record
from clipaudit.store.store import Pointer, Store


def refuse_shortages(run: Settings) -> None:
    """Raise ConfigError, with all shortages, if settings need more samples than there are.

    Only numbers that the settings name raise. If a default is too large, the step that finds it
    omits its result.
    """
    short = [told for asked in _asked(run) if (told := _shortage(run, asked))]
    if short:
        raise ConfigError("\n".join(short))


def most_samples(run: Settings, corpus: str, enough: int) -> int | None:
    """Return the largest number of samples a corpus can have; None: unknown, or >= `enough`.

    Files are counted until `enough` is reached. A split has at most its corpus's samples.
    """
    source = run.source(corpus)
    blurred = run.corpora[source].blurred
    source = source if blurred is None else blurred.of
    counted = 0
    for count in _counts(run, source):
        if count is None:
            return None
        counted += count
        if counted >= enough:
            return None
    return counted


def _shortage(run: Settings, asked: Asked) -> str | None:
    most = most_samples(run, asked.corpus, asked.samples)
    if most is None:
        return None
    return (
        f"{asked.setting}: {asked.what}, but corpora.{asked.corpus} has at most {most:,} samples. "
        f"Request fewer, or add shards until there are {asked.samples:,}."
    )


def _asked(run: Settings) -> Iterator[Asked]:
    for audit, section in run.audits():
        yield from audit.asks(run, section)
        for corpus, (deduplication, _) in audit.deduplications(section).items():
            if deduplication.clusters:
                setting, count = f"{audit.name}.deduplication.clusters", deduplication.clusters
                yield Asked(setting, corpus, count, f"{count:,} clusters")
    for name, encoder in run.encoders.items():
        recipe_name, _, corpus = (encoder.model or "").partition("/")
        recipe = run.recipes.get(recipe_name)
        if recipe is not None and corpus in run.corpora and "batch_size" in recipe.model_fields_set:
            what = f"recipes.{recipe_name} takes {recipe.batch_size:,} samples per step"
            yield Asked(f"encoders.{name}.model", corpus, recipe.batch_size, what)


# --- what is known --------------------------------------------------------------------------------


def _counts(run: Settings, corpus: str) -> Iterable[int | None]:
    """Yield the samples of some shards at a time until all are counted; None: unknown."""
    section, shards = run.corpora[corpus], run.shards(corpus)
    if section.world is not None:
        made = run.worlds[section.world].corpora[corpus].samples_per_shard
        return [made * len(shards)]
    if run.without_data:
        return [None]
    if (indexed := _indexed(run, corpus)) is not None:
        return [indexed]
    return map(_in_file, shards)


def _in_file(shard: str) -> int | None:
    """Return the most samples a file can hold, from the file or from one beside it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(shard)
    try:
        if is_url(shard):
            return None
        if path.suffix == ".parquet":
            return int(pq.read_metadata(path).num_rows)
        stated = json.loads(path.with_name(f"{path.stem}_stats.json").read_text())
        return int(stated["successes"])
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return None  # the rule that reads a missing or damaged file reports it


def _indexed(run: Settings, corpus: str) -> int | None:
    """Return the rows that an earlier run read in exactly these files; None without such a run."""
    results, store = Path(run.results), Store(Path(run.store))
    digests, shards, found = FileDigests(store.root / "files"), run.shards(corpus), 0
    for part in run.parts(corpus):
        samples, drops = (
            results / paths.of_part(folder, corpus, part) for folder in ("samples", "drops/index")
        )
        try:
            inputs = read_record(store, placement(results, samples).action).ingredients.inputs
            found += Pointer.read(samples).rows + Pointer.read(drops).rows
        except ClipauditError:
            return None  # never indexed, or the store has lost it: the run will report it
        read = [file.digest for file in (*inputs.get("tars", ()), *inputs.get("files", ()))]
        lying = [shards[number] for number in run.part_shards(corpus, part)]
        if read != [None if is_url(each) else digests.known(Path(each)) for each in lying]:
            return None
    return found
