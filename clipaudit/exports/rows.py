"""Reads the rows of a manifest with what a run knows of them, one table per part.

A manifest is named as `corpus/name`, as below results/manifests, or by the name or the digest of a
sealed one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.catalog.columns import meaning as catalogued_meaning
from clipaudit.catalog.scores import ScoreTable
from clipaudit.catalog.sqltext import literal
from clipaudit.corpora.manifests import MANIFEST
from clipaudit.corpora.urls import stated_urls
from clipaudit.errors import InputError, StoreError
from clipaudit.exports.current import refuse_outdated
from clipaudit.exports.vectors import ROWS_AT_ONCE, VectorColumn
from clipaudit.store.parquet import GROUP_KEY
from clipaudit.store.placements import placement
from clipaudit.store.records import read_record
from clipaudit.store.store import Pointer, Store
from clipaudit.suggestions import did_you_mean

MIN_DIGITS = 12  # hex digits of a digest that name a sealed manifest: what messages show

_INDEXED = "path of the sample's shard, as it was indexed; null: not recorded"

# What a sample is, in front of its scores.
_SAMPLE_FIELDS = [
    pa.field("corpus", pa.string(), nullable=False),
    pa.field("shard", pa.int32(), nullable=False),
    pa.field("row", pa.int32(), nullable=False),
    pa.field("shard_file", pa.string(), metadata={"meaning": _INDEXED}),
    pa.field("uid", pa.string()),  # null: the row never was a sample
    pa.field("key", pa.string(), nullable=False),
    pa.field("caption", pa.string()),
]
_URL_FIELD = pa.field("url", pa.string(), metadata={"meaning": "URL that the sample's JSON states"})
_REASON_FIELDS = [each for each in MANIFEST if each.name not in ("shard", "row")]


@dataclass
class Tally:
    """What was written: the number of rows, and notes for the reader."""

    rows: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ManifestPart:
    """One part of a manifest: the corpus and part of its rows, and its object."""

    corpus: str
    part: str
    digest: str


@dataclass(frozen=True)
class Manifest:
    """A manifest by its parts, in corpus order; `name` as in the run.

    `pointers` are those of the parts, or that of the sealed manifest.
    """

    name: str
    parts: Sequence[ManifestPart]
    pointers: Sequence[Path]

    @property
    def corpora(self) -> list[str]:
        """Return the corpora of its rows, each once, in order."""
        return list(dict.fromkeys(part.corpus for part in self.parts))


def meaning(column: pa.Field) -> str | None:
    """Return the meaning of a column, from its metadata."""
    said = (column.metadata or {}).get(b"meaning")
    return said.decode() if said is not None else None


def _explained(view: str, column: pa.Field) -> pa.Field:
    """Return a column with the meaning that the catalog states for it in a view."""
    said = catalogued_meaning(view, column.name)
    return column.with_metadata({"meaning": said}) if said else column


def find_manifest(results: Path, store: Store, asked: str) -> Manifest:
    """Return the manifest of this name or digest; the first digits of a digest suffice.

    Raise InputError, with the nearest names, if the results have none, and if several digests begin
    with the digits, and StoreError if its parts do not come from the corpus's present samples. A
    sealed manifest is returned even if they have been replaced: it names the tars that it needs.
    """
    folders = {
        f"{path.parent.name}/{path.name}": path
        for path in sorted((results / "manifests").glob("*/*"))
        if path.is_dir()
    }
    sealed = {path.stem: path for path in sorted((results / "sealed").glob("*.json"))}
    if asked in folders:
        corpus = folders[asked].parent.name
        paths = sorted(folders[asked].glob("*.json"))
        if not paths:
            raise InputError(
                f"{folders[asked]}: has no parts yet. Run `clipaudit run SETTINGS all_tables`."
            )
        _refuse_two_runs(paths, sorted((results / "samples" / corpus).glob("*.json")))
        refuse_outdated(results, store, paths)
        parts = [ManifestPart(corpus, path.stem, Pointer.read(path).digest) for path in paths]
        return Manifest(asked, parts, paths)
    name = asked if asked in sealed else _sealed_name(sealed, asked)
    if name is None and not folders and not sealed:
        raise InputError(
            f"{results}: no manifests yet. Go to the folder that a run was started in, or name its "
            "results by --results. `clipaudit run SETTINGS all_tables` makes them, but none from a "
            "search of only a sample for copies (copies.sample, or audit --sample): search all."
        )
    if name is None:
        raise InputError(
            f"{results}: no manifest {asked!r}.{did_you_mean(asked, [*folders, *sealed])}"
        )
    return Manifest(name, _sealed_parts(results, store, sealed[name]), [sealed[name]])


def _refuse_two_runs(manifest: Sequence[Path], samples: Sequence[Path]) -> None:
    """Raise StoreError unless a manifest has a row for each sample of its corpus, by part."""
    ours, theirs = (
        {path.name: Pointer.read(path).rows for path in paths} for paths in (manifest, samples)
    )
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            found, wanted = (
                f"{count} rows" if count is not None else "no such part"
                for count in (ours.get(name), theirs.get(name))
            )
            raise StoreError(
                f"{manifest[0].parent / name}: {found}, but {samples[0].parent} has {wanted}: they "
                "come from two runs. Run `clipaudit run SETTINGS all_tables` again."
            )


def _sealed_name(sealed: Mapping[str, Path], digits: str) -> str | None:
    if len(digits) < MIN_DIGITS:
        return None
    found: dict[str, str] = {}
    for name, path in sealed.items():
        digest = Pointer.read(path).digest
        if digest.startswith(digits):
            found.setdefault(digest, name)
    if len(found) > 1:
        raise InputError(f"{digits}: begins {len(found)} sealed manifests. Give more digits.")
    return next(iter(found.values()), None)


def _sealed_parts(results: Path, store: Store, sealed: Path) -> list[ManifestPart]:
    """Return the sealed parts from the record: a bitmap lacks the reasons."""
    record = read_record(store, placement(results, sealed).action)
    control = record.ingredients.settings.get("control")
    if control is not None:
        raise InputError(
            f"{sealed.stem}: a control, whose samples ({control}) are not those of the corpus. "
            "Write its shards by `clipaudit stream`, or export the set that it controls for."
        )
    return [
        ManifestPart(file.labels["corpus"], file.labels["part"], file.digest)
        for file in record.ingredients.inputs["manifests"]
    ]


@dataclass(frozen=True)
class Rows:
    """The rows of a manifest with what the run knows of them, one table per part.

    These are the kept rows, or with `all_rows` all rows of the tars and why others were removed.
    `urls` adds the URL that a sample's JSON states.
    """

    results: Path
    store: Store
    manifest: Manifest
    scores: Sequence[ScoreTable] = ()
    vectors: Sequence[VectorColumn] = ()
    all_rows: bool = False
    urls: bool = False

    @property
    def schema(self) -> pa.Schema:
        """Return the columns of `tables`: sample, removal reason (`all_rows`), scores, vectors."""
        told = [_explained("samples", each) for each in _SAMPLE_FIELDS]
        urls = [_URL_FIELD] if self.urls else []
        reasons = [_explained("manifests", each) for each in _REASON_FIELDS if self.all_rows]
        columns = [
            pa.field(score.name, score.type, metadata={"meaning": score.meaning})
            for table in self.scores
            for score in table.scores
        ]
        vectors = [vector.field for vector in self.vectors]
        metadata = {"name": "export"} | ({GROUP_KEY: str(ROWS_AT_ONCE)} if vectors else {})
        fields = [*told, *urls, *reasons, *columns, *vectors]
        return pa.schema(fields, metadata=metadata)

    def most(self) -> int:
        """Return an upper bound of the rows: the number of samples in the manifest's parts."""
        paths = (self._path("samples", part) for part in self.manifest.parts)
        return sum(Pointer.read(path).rows for path in paths)

    def tables(self, *more: str) -> Iterator[pa.Table]:
        """Yield the rows in corpus order, one part at a time, or with vectors fewer rows.

        `more` are columns of SAMPLES that follow the others, or "spans". Raise StoreError if the
        manifest has a sample that the run does not have.
        """
        with duckdb.connect() as connection:
            for part in self.manifest.parts:
                table = connection.sql(self._sql(part, more)).to_arrow_table()
                finished = self._finished(part, table)
                if not self.vectors:
                    yield finished
                    continue
                for start in range(0, len(finished), ROWS_AT_ONCE):
                    rows = finished.slice(start, ROWS_AT_ONCE)
                    for vector in self.vectors:
                        rows = rows.append_column(vector.field, vector.of(part.corpus, rows))
                    yield rows

    def removed_uids(self) -> Iterator[list[str]]:
        """Yield the uids of the samples that the manifest removes, one part at a time."""
        with duckdb.connect() as connection:
            for part in self.manifest.parts:
                samples, rows = self._object("samples", part), self._manifest(part)
                sql = f"from {_files(samples)} join {_files(rows)} using (shard, row)"
                removed = connection.sql(f"select uid {sql} where not kept").to_arrow_table()
                yield removed["uid"].to_pylist()

    def shard_digests(self, part: ManifestPart) -> dict[int, str]:
        """Return the SHA-256 of each tar of a part, by shard."""
        shards = pq.ParquetFile(self._object("shards", part)).read(["shard", "sha256"])
        return dict(zip(*(column.to_pylist() for column in shards.columns), strict=True))

    def shard_files(self, part: ManifestPart) -> dict[int, str]:
        """Return the path of each tar of a part as it was indexed, by shard."""
        samples = self._path("samples", part)
        made_of = read_record(self.store, placement(self.results, samples).action).ingredients
        shards = made_of.inputs.get("tars") or made_of.inputs.get("files", ())
        paths = [file.path for file in shards]
        return dict(zip(made_of.settings.get("shards", ()), paths, strict=False))

    def _finished(self, part: ManifestPart, table: pa.Table) -> pa.Table:
        """Add the shards' paths; raise StoreError for a kept row that the run does not have."""
        lost = table.filter(table["lost"])
        if len(lost):
            shard, row = lost["shard"][0].as_py(), lost["row"][0].as_py()
            raise StoreError(
                f"{self.manifest.name}: has row {row} of shard {shard}, which "
                f"{self.results / 'samples' / part.corpus} lacks: they come from two runs. "
                "Run `clipaudit run all_tables` again."
            )
        files = self.shard_files(part)
        paths = pa.array([files.get(shard) for shard in table["shard"].to_pylist()], pa.string())
        at = table.schema.get_field_index("shard_file")
        table = table.set_column(at, "shard_file", paths).drop_columns(["lost"])
        if not self.urls:
            return table
        at = table.schema.get_field_index("url")
        return table.set_column(at, "url", stated_urls(table["url"]))

    # --- the query -----------------------------------------------------------------------------

    def _sql(self, part: ManifestPart, more: Sequence[str]) -> str:
        rows = f"select *, false as never from {_files(self._manifest(part))}"
        key = "samples.key"
        if self.all_rows:
            rows += (
                " union all by name select shard, row, key as dropped_key, false as kept, "
                "'index: ' || reason || if(detail = '', '', ': ' || detail) as reason, "
                f"true as never from {_files(self._object('drops/index', part))}"
            )
            key = "coalesce(samples.key, rows.dropped_key)"
        samples = _files(self._object("samples", part))
        joins = [f"left join {samples} as samples using (shard, row)"]
        urls = ["samples.metadata as url"] if self.urls else []  # text that `_finished` reads
        reasons = [f"rows.{each.name}" for each in _REASON_FIELDS] if self.all_rows else []
        columns = [*urls, *reasons, *self._score_columns(part, joins)]
        if "spans" in more:
            joins.append(self._spans_join(part))
        columns += [f"{'spans' if name == 'spans' else 'samples'}.{name}" for name in more]
        return (
            f"with rows as ({rows}) select {literal(part.corpus)} as corpus, rows.shard, rows.row, "
            f"null as shard_file, samples.uid, {key} as key, samples.caption, "
            f"{''.join(f'{column}, ' for column in columns)}"
            "not rows.never and samples.uid is null as lost "
            f"from rows {' '.join(joins)} {'' if self.all_rows else 'where rows.kept '}"
            "order by rows.shard, rows.row"
        )

    def _score_columns(self, part: ManifestPart, joins: list[str]) -> Iterator[str]:
        """Yield the scores' columns, and add the tables to join to `joins`."""
        shards = self.shard_digests(part) if self.scores else {}
        for number, table in enumerate(self.scores):
            paths = table.files.get(part.corpus)
            if not paths or not shards:
                yield from (f"null as {score.name}" for score in table.scores)
                continue
            chosen = ", ".join(f"{score.sql} as {score.name}" for score in table.scores)
            joins.append(
                f"left join (select shard, row, {chosen} from {_files(*paths)} "
                f"where shard between {min(shards)} and {max(shards)} group by shard, row) "
                f"as scores{number} using (shard, row)"
            )
            yield from (f"scores{number}.{score.name}" for score in table.scores)

    def _spans_join(self, part: ManifestPart) -> str:
        if not self._path("spans", part).is_file():
            return "left join (select null as spans) as spans on true"
        return f"left join {_files(self._object('spans', part))} as spans using (shard, row)"

    # --- files ---------------------------------------------------------------------------------

    def _manifest(self, part: ManifestPart) -> Path:
        path = self.store.path(part.digest)
        size = path.stat().st_size if path.exists() else 0
        return self.store.checked_path(Pointer(part.digest, 0, size, "manifest"))

    def _path(self, stage: str, part: ManifestPart) -> Path:
        return self.results / stage / part.corpus / f"{part.part}.json"

    def _object(self, stage: str, part: ManifestPart) -> Path:
        return self.store.checked_path(Pointer.read(self._path(stage, part)))


def _files(*paths: Path) -> str:
    return f"read_parquet([{', '.join(literal(str(path)) for path in paths)}])"
