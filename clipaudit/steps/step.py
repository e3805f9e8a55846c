"""One job of the workflow: its inputs, its settings, and where its outputs go.

A step forms its action key from the content of its inputs. If the store has the outputs of that
key, the step places their pointers and computes nothing. Otherwise the outputs appear together when
all of them are written.
"""

import json
import logging
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

from clipaudit.ahead import one_ahead
from clipaudit.errors import StepError, StoreError, TooSmall
from clipaudit.plaindata import Json
from clipaudit.remote.cache import use_cache
from clipaudit.steps.allowance import Allowance
from clipaudit.steps.codedigest import code_parts, is_module, rule_sources
from clipaudit.steps.environment import (
    at_once_of,
    device_of,
    environment_of,
    gpus_of,
    nodes_of,
    processes_of,
)
from clipaudit.steps.filedigests import FileDigests
from clipaudit.steps.gpus import held_gpus
from clipaudit.steps.inputs import InputFiles
from clipaudit.steps.params import named, settings_of, threads_of
from clipaudit.steps.usage import cpu_seconds, peak_memory_mb, versions_of_loaded_libraries
from clipaudit.store.actions import (
    ActionCache,
    ActionInput,
    ActionOutput,
    Ingredients,
    LabelledFile,
)
from clipaudit.store.code_records import CodeRecord, write_code
from clipaudit.store.locks import alone
from clipaudit.store.pieces import Pieces, piece_key
from clipaudit.store.placements import Placement, place, placement
from clipaudit.store.records import Execution, Record, write_record
from clipaudit.store.roots import register
from clipaudit.store.sharing import GroupStore, group_rights, user_name
from clipaudit.store.store import Store, link_object, replace_text

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
logger = logging.getLogger(__name__)


class Step:
    """One job of the workflow: its inputs by content, its settings, and where its outputs go."""

    def __init__(self, job: Any) -> None:  # noqa: ANN401
        """Read the job that Snakemake passes to a script; see clipaudit.steps.params."""
        self._job = job
        self._outputs: dict[str, ActionOutput] = {}
        self._written_at: dict[str, float] = {}
        self._pieces: list[str] = []
        self.left_out: dict[str, list[str]] = {}  # by reason, what `made` found omitted
        self.share = 1.0  # share of the work that this execution does; see `known_pieces`
        self.results = Path(job.config["results"])
        self.store = Store(Path(job.config["store"]))
        self._allowance = Allowance(job.config.get("limits"), self.results, self.store.root)
        self._group_store = GroupStore.of_settings(job.config.get("shared_store"))
        self.file_digests = FileDigests(self.store.root / "files")
        self._inputs = InputFiles(self.store, self.results)
        if "remote" in job.config:
            use_cache(job.config["remote"]["cache"], job.config["remote"]["gigabytes"])
        self.threads = threads_of(job)
        self.device = device_of(job.resources)
        self.settings = settings_of(job.params)
        self.ingredients = Ingredients(
            step=job.rule,
            code=job.params.code,
            settings=self.settings,
            inputs={
                name: self._inputs.described(paths, job.params.get("urls", ()), name=name)
                for name, paths in named(job.input.items()).items()
            },
            environment=environment_of(job.params.get("numeric", ()), job.resources, self.threads),
            reads_labels=job.params.get("reads_labels", True),
        )
        self.key = self.ingredients.key()

    @property
    def workers(self) -> int:
        """The number of processes that may share the work of a step `by_processes`."""
        return int(max(self._job.threads, self._job.resources.get("workers", 1)))

    @property
    def decoders(self) -> int:
        """The number of processes that decode images for a model; on a CPU the model is the limit.

        It is the resource `workers`; else, for a GPU, the number of the job's spare threads.
        """
        spare = self._job.threads - 1 if self.device == "cuda" else 0
        return int(self._job.resources.get("workers", spare))

    # --- inputs --------------------------------------------------------------------------------

    def file(self, name: str) -> Path:
        """Return the one file of input `name`: a checked object of the store, or a raw file."""
        (path,) = self.files(name)
        return path

    def files(self, name: str) -> list[Path]:
        """Return the files of input `name`, in order; none if the input is absent."""
        return [file.path for file in self.labelled(name)]

    def labelled(self, name: str) -> list[LabelledFile]:
        """Return the files of input `name` with the labels of the jobs that made them."""
        return [
            LabelledFile(self._inputs.path(file), file.labels)
            for file in self.ingredients.inputs.get(name, ())
        ]

    def made(self, name: str) -> list[LabelledFile]:
        """Return the files of input `name`, without omitted ones, which `left_out` lists."""
        found = []
        for file in self.ingredients.inputs.get(name, ()):
            try:
                found.append(LabelledFile(self._inputs.path(file), file.labels))
            except TooSmall as reason:
                path = Path(file.path).relative_to(self.results).with_suffix("").as_posix()
                self.left_out.setdefault(str(reason), []).append(path)
        return found

    def digests(self, name: str, **labels: str) -> list[str]:
        """Return the SHA-256 of the files of input `name` with these labels, in order."""
        files = self.ingredients.inputs.get(name, ())
        return [file.digest for file in files if labels.items() <= file.labels.items()]

    def rows(self, name: str) -> int:
        """Return the number of rows of input `name`, according to its pointers."""
        files = self.ingredients.inputs.get(name, ())
        return sum(self._inputs.pointer(file).rows for file in files)

    def table(
        self, name: str, *, columns: Sequence[str] | None = None, **labels: str
    ) -> "pa.Table":
        """Return the rows of the files of input `name` with these labels, in order.

        Without `columns` all are read: of samples, captions and metadata take most of the memory.
        """
        import pyarrow as pa

        return pa.concat_tables(self.tables(name, columns=columns, **labels))

    def tables(
        self, name: str, *, columns: Sequence[str] | None = None, **labels: str
    ) -> "Iterator[pa.Table]":
        """Yield the files of input `name` with these labels, in order, one table each."""
        for file in self.labelled(name):
            if labels.items() <= file.labels.items():
                yield file.table(*columns or ())

    def batches(self, name: str) -> "Iterator[pa.RecordBatch]":
        """Yield the rows of input `name`, in order, some thousands at a time.

        The next batch is read while the caller works on one.
        """
        files = self.labelled(name)
        return one_ahead(batch for file in files for batch in file.batches())

    def ranges(self, name: str, column: str, first: int, last: int) -> "list[Iterator[pa.Table]]":
        """Return, for each file of input `name`, its rows with `column` from `first` to `last`."""
        from clipaudit.store.parquet import read_range

        return [read_range(path, column, first, last) for path in self.files(name)]

    def between(self, name: str, column: str, first: int, last: int) -> "pa.Table":
        """Return the rows of input `name` with `column` from `first` to `last`, in order."""
        import pyarrow as pa

        files = self.ranges(name, column, first, last)
        return pa.concat_tables(table for tables in files for table in tables)

    def settings_as(self, form: type[T], *names: str) -> T:
        """Return the job's settings, or the setting at `names`, as the model `form`.

        The model is the section of the settings that the rule gave, or a dataclass. A field that it
        lacks is an error of the rule, not of a user: the settings were checked when they were read.
        """
        return _as(form, reduce(getitem, names, self.settings))

    def settings_list(self, form: type[T], name: str) -> list[T]:
        """Return the items of the setting `name`, each as `settings_as` does."""
        return [_as(form, item) for item in self.settings[name]]

    def resource(self, name: str, default: Any) -> Any:  # noqa: ANN401
        """Return a resource of the job, which may change how it runs, never its result."""
        return self._job.resources.get(name, default)

    # --- outputs -------------------------------------------------------------------------------

    def write_table(self, name: str, table: "pa.Table", schema: "pa.Schema", **labels: str) -> None:
        """Store `table` as output `name`; `labels` describe it beyond the job's wildcards."""
        self.write_tables(name, [table], schema, **labels)

    def write_tables(
        self, name: str, tables: "Iterable[pa.Table]", schema: "pa.Schema", **labels: str
    ) -> None:
        """Store the rows of `tables`, one table at a time, as output `name`."""
        from clipaudit.store.parquet import write_tables

        pointer = self.store.put(
            lambda path: write_tables(tables, schema, path),
            schema=str((schema.metadata or {}).get(b"name", name.encode()).decode()),
        )
        self._outputs[name] = ActionOutput(pointer, ".parquet", labels)
        self._written_at[name] = time.monotonic()

    def write_bytes(self, name: str, content: bytes, extension: str, **labels: str) -> None:
        """Store `content` as output `name`, a file that is not Parquet.

        It counts as written even if the step is killed later and runs again: a resumed training run
        need not repeat the epochs that it has stored.
        """
        pointer = self.store.put_bytes(content, schema=extension.lstrip("."))
        self._note_written(name, ActionOutput(pointer, extension, labels))

    def write_pieces(
        self, name: str, pieces: Iterable[bytes], extension: str, **labels: str
    ) -> str:
        """Store `pieces`, one after the other, as output `name`.

        Return the SHA-256 of the whole. As with `write_bytes`, it counts as written.
        """

        def write(path: Path) -> int:
            with open(path, "wb") as file:
                file.writelines(pieces)
            return 0

        pointer = self.store.put(write, schema=extension.lstrip("."))
        self._note_written(name, ActionOutput(pointer, extension, labels))
        return pointer.digest

    def written(self, name: str) -> str | None:
        """Return the SHA-256 of output `name`, if written here or by a killed run, else None."""
        return self._outputs[name].pointer.digest if name in self._outputs else None

    def leave_out(self, name: str, reason: TooSmall) -> None:
        """Store a reason in place of output `name`; other outputs are written normally."""
        self._outputs[name] = ActionOutput(self.store.put_reason(reason), ".txt")

    def _note_written(self, name: str, output: ActionOutput) -> None:
        """Note an output as written, also for a later run if this one is killed."""
        self._outputs[name] = output
        self._written_at[name] = time.monotonic()
        text = json.dumps(asdict(output), sort_keys=True)
        replace_text(self.scratch / "written" / f"{quote(name, safe='')}.json", text)

    def adopt(self, name: str, source: str, output: str, **labels: str) -> None:
        """Take `output` of the action that gave input `source` as output `name` of this step.

        Raise StepError if that action gave no such output, or the store has lost it; TooSmall if
        that input was omitted.
        """
        (given,) = self.ingredients.inputs[source]
        self._inputs.path(given)
        outputs = ActionCache(self.store).find(given.action) if given.action else None
        if outputs is None or output not in outputs:
            raise StepError(
                f"{given.path}: the store has no output {output} of the action that made it. "
                "Remove this pointer and run it again."
            )
        found = outputs[output]
        self._outputs[name] = ActionOutput(found.pointer, found.extension, labels)
        self._written_at[name] = time.monotonic()

    def known_pieces(
        self, pieces: Mapping[str, Json]
    ) -> list[tuple[set[str], dict[str, LabelledFile]]]:
        """Return, for each earlier action, the pieces that it has and its files by output.

        `pieces` gives, under any name, everything that determines a piece besides the step, its
        code and its environment; see clipaudit.store.pieces. Later actions find these pieces in
        this one.
        """
        keys = {name: piece_key(self.ingredients, made_of) for name, made_of in pieces.items()}
        self._pieces = list(keys.values())
        return [
            (
                {name for name, key in keys.items() if key in held},
                {
                    name: LabelledFile(self.store.path(output.pointer.digest), output.labels)
                    for name, output in outputs.items()
                },
            )
            for held, outputs in Pieces(self.store).find(self._pieces)
        ]

    @property
    def scratch(self) -> Path:
        """Return a folder for resuming this action after a kill; it is removed at the end."""
        folder = self.store.root / "unfinished" / self.key
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _take_up(self) -> None:
        """Recover what a killed run of this action had written."""
        for path in (self.store.root / "unfinished" / self.key / "written").glob("*.json"):
            try:
                output = ActionOutput.from_json(json.loads(path.read_text()))
            except (KeyError, TypeError, ValueError) as error:  # a power cut leaves such a file
                logger.warning("%s: not a written output (%r). Writing it again.", path, error)
                continue
            if self.store.fault(output.pointer) is None:
                self._outputs[unquote(path.stem)] = output

    # --- running -------------------------------------------------------------------------------

    def run(self, compute: Callable[["Step"], None]) -> None:
        """Place the outputs: from the store if it has them, else by computing them."""
        with group_rights(self.store.root):
            register(self.store, self.results)
            outputs = ActionCache(self.store).find(self.key)
            if outputs is None:
                with alone(self.store.root / "unfinished" / f"{self.key}.lock"):
                    outputs = self._find_or_execute(compute)
            else:
                logger.info("from the store: action %s", self.key)
            self._clear_undeclared(outputs)
            for name, output in outputs.items():
                self._place(self._output_path(name), name, output)

    def _find_or_execute(self, compute: Callable[["Step"], None]) -> dict[str, ActionOutput]:
        cache, group = ActionCache(self.store), self._group_store
        outputs = cache.find(self.key)  # another process may have computed it meanwhile
        if outputs is None and group is not None:
            outputs = group.take(self.store, self.key)
        if outputs is None:
            outputs = self._execute(compute)
            cache.record(self.key, outputs)
            Pieces(self.store).record(self._pieces, self.key)
            shutil.rmtree(self.store.root / "unfinished" / self.key, ignore_errors=True)
            if group is not None and group.write:
                group.give(self.store, self.key, self.results)
        return outputs

    def _execute(self, compute: Callable[["Step"], None]) -> dict[str, ActionOutput]:
        started, clock = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
        cpu_before = cpu_seconds()
        self._take_up()
        gpus = gpus_of(self._job.resources)
        here = gpus // nodes_of(self._job.resources)
        with self._allowance.spent(self.key, gpus), held_gpus(here):
            try:
                compute(self)
            except TooSmall as reason:
                self._leave_out(reason)
        self._inputs.require_unchanged(self._all_inputs)
        missing = named(self._job.output.items()).keys() - self._outputs.keys()
        assert not missing, f"step {self._job.rule} wrote no {sorted(missing)}"
        labels = {label for output in self._outputs.values() for label in output.labels}
        renamed = labels & self._wildcards.keys() - set(self._job.params.get("renamed", ()))
        assert not renamed, f"rule {self._job.rule}: its param `renamed` lacks {sorted(renamed)}"
        execution = Execution(
            started=started,
            seconds=round(time.monotonic() - clock, 3),
            host=platform.node(),
            peak_memory_mb=peak_memory_mb(),
            threads=self._job.threads,
            versions=versions_of_loaded_libraries(),
            written={name: round(when - clock, 3) for name, when in self._written_at.items()},
            owner=user_name(os.getuid()),
            cpu_seconds=round(cpu_seconds() - cpu_before, 3),
            device=self.device,
            share=self.share,
        )
        record = Record(self.key, self.ingredients, self._outputs, self._wildcards, execution)
        write_record(self.store, record)
        self._record_code()
        logger.info("computed in %.1f s: action %s", execution.seconds, self.key)
        return self._outputs

    def _leave_out(self, reason: TooSmall) -> None:
        """Store the reason in place of every output; only the first step tells the terminal."""
        is_told = any(self.store.has_reason(file.digest) for file in self._all_inputs)
        logger.log(logging.INFO if is_told else logging.WARNING, "left out: %s", reason)
        self._pieces = []
        output = ActionOutput(self.store.put_reason(reason), ".txt")
        self._outputs = dict.fromkeys(named(self._job.output.items()), output)

    def _record_code(self) -> None:
        name = self._job.params.get("script", self._job.rule)
        script, files = rule_sources(name, self._job.params.get("code_files", ()))
        texts = {file.name: file.read_text() for file in files if not is_module(file)}
        record = CodeRecord(code_parts(script, files), texts)
        write_code(self.store, self.ingredients.code, record)

    def _place(self, path: Path, name: str, output: ActionOutput) -> None:
        """Write the record, the link, and last the pointer, which Snakemake waits for."""
        labels = {**self._wildcards, **output.labels}
        link = _link(path, output)
        before = self._placed_before(path)
        if before is not None and (old := _link(path, before)) != link and old.is_symlink():
            old.unlink()
        place(self.results, path, Placement(self.key, name, labels))
        link_object(link, self.store.path(output.pointer.digest))
        # Snakemake replaces no output that its user may not write
        replace_text(path, output.pointer.to_json(), for_group=True)

    def _placed_before(self, path: Path) -> ActionOutput | None:
        """Return the earlier result at `path`, whose pointer Snakemake has removed, if known."""
        with suppress(StoreError):  # there is no readable record: it is written now
            placed = placement(self.results, path)
            return (ActionCache(self.store).recorded(placed.action) or {}).get(placed.output)
        return None

    def _output_path(self, name: str) -> Path:
        """Return a declared output's path; `epochs/0000` is beside the first one."""
        declared = {key: paths[0] for key, paths in named(self._job.output.items()).items()}
        if name in declared:
            return Path(declared[name])
        first = next(iter(declared.values())).removesuffix(".json")
        return Path(f"{first}.{name}.json")

    def _clear_undeclared(self, outputs: Mapping[str, ActionOutput]) -> None:
        """Empty the folders of outputs such as `epochs/0000`: another action filled them."""
        # also if none is kept any more
        names = {*outputs, "epochs/0000", "shards/00000"}
        for folder in {self._output_path(name).parent for name in names if "/" in name}:
            for path in folder.glob("*") if folder.is_dir() else ():
                path.unlink()

    # --- ingredients ---------------------------------------------------------------------------

    @property
    def _all_inputs(self) -> list[ActionInput]:
        return [file for files in self.ingredients.inputs.values() for file in files]

    @property
    def _wildcards(self) -> dict[str, str]:
        return dict(self._job.wildcards.items())

    @property
    def processes(self) -> int:
        """The number of processes that train together: one for each GPU of all nodes.

        The resource `processes` replaces this by a number for each node.
        """
        return processes_of(self._job.resources)

    @property
    def at_once(self) -> int | None:
        """The samples that pass through the model at a time in training: the resource `at_once`."""
        return at_once_of(self._job.resources)

    @property
    def nodes(self) -> int:
        """The number of cluster nodes for training: the resource `nodes`, as for SLURM."""
        return nodes_of(self._job.resources)


def _link(path: Path, output: ActionOutput) -> Path:
    """Return where the link beside the pointer `path` is; the result's kind ends its name."""
    stem = path.name.removesuffix(".json").removesuffix(output.extension)
    return path.with_name(stem + output.extension)


def _as(form: type[T], asked: object) -> T:
    from pydantic import TypeAdapter

    return TypeAdapter(form).validate_python(asked)
