"""A hand-made run of a corpus in tars, with index and manifests, for exports and provenance."""

import io
import json
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.drops import DROPS
from clipaudit.corpora.manifests import MANIFEST
from clipaudit.corpora.samples import SAMPLES, index_shards
from clipaudit.corpora.shardlist import SHARDS
from clipaudit.corpora.vectors import binary_rows
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.actions import ActionInput, ActionOutput, Ingredients
from clipaudit.store.parquet import write_tables
from clipaudit.store.placements import Placement, place, placement
from clipaudit.store.records import Execution, Record, write_record
from clipaudit.store.store import Pointer, Store, replace_text

VERSIONS = {"python": "3.11.7", "numpy": "2.3.5"}


def picture(shade, side=(8, 4)):
    file = io.BytesIO()
    Image.new("RGB", side, (shade, 0, 0)).save(file, "PNG")
    return file.getvalue()


def uid(number):
    return f"{number:016x}{0xABC:016x}"


class ExportedRun:
    """Results and a store; `index` and `manifest` fill them as the workflow does."""

    def __init__(self, folder):
        self.folder = folder
        self.results, self.store = folder / "results", Store(folder / "store")
        self.results.mkdir()
        self.acts = 0

    def act(self, step, outputs, inputs=(), settings=None, labels=None, extensions=None):
        """Record an action that put objects at paths of results; return its key."""
        self.acts += 1
        files = {name: [self.named(path) for path in paths] for name, paths in dict(inputs).items()}
        made_of = Ingredients(step, "c0de" * 16, settings or {}, files, {})
        key, ends = made_of.key(), f"2026-01-01T00:00:{self.acts:02d}.000+00:00"
        given = {
            name: ActionOutput(pointer, (extensions or {}).get(name, ".parquet"))
            for name, (_, pointer) in outputs.items()
        }
        ran = Execution(ends, 1.5, "host", 100, 1, VERSIONS, {})
        write_record(self.store, Record(key, made_of, given, labels or {}, ran))
        for name, (path, pointer) in outputs.items():
            place(self.results, self.results / path, Placement(key, name, labels or {}))
            replace_text(self.results / path, pointer.to_json())
        return key

    def named(self, path):
        """Return an input: a pointer of results by its name, or a user's file by its path."""
        pointer = self.results / path
        if not pointer.is_file():
            digests = FileDigests(self.store.root / "files")
            return ActionInput(digests.digest(self.folder / path), str(path))
        placed = placement(self.results, pointer)
        digest = Pointer.read(pointer).digest
        return ActionInput(digest, str(pointer), placed.labels, placed.action)

    def put(self, table, schema):
        name = (schema.metadata or {}).get(b"name", b"table").decode()
        return self.store.put(lambda path: write_tables([table], schema, path), schema=name)

    def rows(self, path, rows, schema, step="stage", made_of=(), **labels):
        """Put a table at a path, with an action of its own, made of other pointers."""
        columns = {field.name: [row.get(field.name) for row in rows] for field in schema}
        table = pa.table(columns, schema=schema)
        outputs = {"table": (path, self.put(table, schema))}
        self.act(step, outputs, {"files": made_of}, labels=labels)

    def index(self, corpus, part, shards, first=0, key="{:04d}"):
        """Write tars of (uid, caption, image) and index them; no image makes a damaged sample."""
        tars = []
        for number, samples in enumerate(shards, start=first):
            path = self.folder / "tars" / corpus / f"{number}.tar"
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_tar(path, samples, key)
            tars.append(path)
        numbered = list(enumerate(tars, start=first))
        samples, drops = index_shards(
            numbered, Captioning(), needs_caption=False, needs_label=False
        )
        names = [str(path.relative_to(self.folder)) for path in tars]
        files = [self.named(name) for name in names]
        shard_rows = {
            "shard": [number for number, _ in numbered],
            "sha256": [file.digest for file in files],
            "rows": [len(samples) for samples in shards],
        }
        outputs = {
            "samples": (f"samples/{corpus}/{part}.json", self.put(samples, SAMPLES)),
            "drops": (f"drops/index/{corpus}/{part}.json", self.put(drops, DROPS)),
            "shards": (
                f"shards/{corpus}/{part}.json",
                self.put(pa.table(shard_rows, schema=SHARDS), SHARDS),
            ),
        }
        labels = {"corpus": corpus, "part": part}
        captioning = {"source": "text", "template": None, "needs_label": False}
        settings = {"shards": [number for number, _ in numbered], "captioning": captioning}
        self.act("index", outputs, {"tars": names}, settings, labels)

    def embeddings(self, encoder, corpus, part, vectors):
        """Put the embeddings of samples, by (shard, row)."""
        column = binary_rows(np.array(list(vectors.values()), np.float16))
        fields = [pa.field(name, pa.int32(), nullable=False) for name in ("shard", "row")]
        schema = pa.schema([*fields, pa.field("embedding", column.type, nullable=False)])
        columns = [*map(list, zip(*vectors, strict=True)), column]
        pointer = self.put(pa.table(columns, schema=schema), schema)
        path = f"embeddings/{encoder}/{corpus}/{part}.json"
        self.act("embed", {"embeddings": (path, pointer)})

    def manifest(self, corpus, name, part, rows):
        """Put a manifest of (shard, row, reason); a row without a reason is kept.

        Further samples of the part are removed.
        """
        samples = self.results / "samples" / corpus / f"{part}.json"
        if samples.is_file():
            table = pq.read_table(self.store.checked_path(Pointer.read(samples)))
            places = zip(table["shard"].to_pylist(), table["row"].to_pylist(), strict=True)
            listed = {each[:2] for each in rows}
            rows = [*rows, *((*each, "gone") for each in places if each not in listed)]
            rows.sort(key=lambda each: each[:2])
        fields = {each.name: pa.nulls(len(rows), each.type) for each in MANIFEST}
        shards, numbers, reasons = zip(*rows, strict=True)
        fields |= {
            "shard": pa.array(shards, pa.int32()),
            "row": pa.array(numbers, pa.int32()),
            "kept": pa.array([reason is None for reason in reasons]),
            "reason": pa.array(reasons, pa.string()),
        }
        pointer = self.put(pa.table(fields, schema=MANIFEST), MANIFEST)
        self.act(
            "prune",
            {"manifest": (f"manifests/{corpus}/{name}/{part}.json", pointer)},
            {"samples": [f"samples/{corpus}/{part}.json"]},
            {"pruning": name},
            {"corpus": corpus, "part": part},
        )

    def report(self, folder, name, *manifests, settings=None):
        """Put a table or figure made of manifests, as Parquet and as CSV; return its key."""
        table = pa.table({"dataset": [name], "kept": [len(manifests)]})
        schema = pa.schema(table.schema, metadata={"name": name})
        csv = self.store.put_bytes(f"dataset,kept\n{name},1\n".encode(), schema="csv")
        key = self.act(
            f"report_{folder.removesuffix('s')}",
            {
                "table": (f"{folder}/{name}.json", self.put(table, schema)),
                "csv": (f"{folder}/{name}.csv.json", csv),
            },
            {"manifest_rows": [f"manifests/{each}.json" for each in manifests]},
            {"sql": name, "table": name, **(settings or {})},
            {"table": name},
            extensions={"csv": ".csv"},
        )
        return key

    def seal(self, name, *manifests, content=None):
        """Put a sealed manifest of these parts; without `content` it cannot be read."""
        pointer = self.store.put_bytes(content or name.encode(), schema="sealed")
        paths = [f"manifests/{each}.json" for each in manifests]
        self.act(
            "seal",
            {"sealed": (f"sealed/{name}.json", pointer)},
            {"manifests": paths},
            labels={"manifest": name},
            extensions={"sealed": ".sealed"},
        )
        return pointer.digest


def _write_tar(path, samples, key):
    with tarfile.open(path, "w") as tar:
        for number, (name, caption, image) in enumerate(samples):
            stated = {"uid": name, "url": f"https://pictures.test/{name}"}
            members = {"txt": caption.encode(), "json": json.dumps(stated).encode()}
            if image is not None:
                members["png"] = image
            for extension, data in members.items():
                info = tarfile.TarInfo(f"{key.format(number)}.{extension}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


def two_parts(folder):
    """Return a corpus of three shards in two parts: five samples and one row without an image."""
    run = ExportedRun(folder)
    shades = np.arange(6)
    rows = [(uid(9 - shade), f"caption {shade}", picture(int(shade))) for shade in shades]
    run.index("large", "00000", [rows[0:2], [rows[2], (uid(77), "no picture", None)]])
    run.index("large", "00001", [rows[4:6]], first=2)
    run.manifest("large", "all", "00000", [(0, 0, None), (0, 1, None), (1, 0, None)])
    run.manifest("large", "all", "00001", [(2, 0, None), (2, 1, None)])
    run.manifest("large", "pruned", "00000", [(0, 0, None), (0, 1, "too near"), (1, 0, None)])
    run.manifest("large", "pruned", "00001", [(2, 0, "too near"), (2, 1, None)])
    return run
