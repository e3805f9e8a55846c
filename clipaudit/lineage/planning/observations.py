"""Observe recorded executions: their work, in terms of a scaling law, and what they took.

The rows that an execution read are the rows of the outputs that its inputs come from. They are in
`store/actions/`, so no object need exist.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from clipaudit.lineage.planning.costs import ask_records
from clipaudit.lineage.planning.dimensions import UNKNOWN, dimension_of
from clipaudit.lineage.planning.scaling import EMBEDDING_INPUTS, Law, Reading, law_of
from clipaudit.plaindata import Json
from clipaudit.store.actions import ActionCache, ActionInput
from clipaudit.store.records import Record, read_records
from clipaudit.store.store import Store

MOST_RECORDS = 300  # the latest of a rule: enough for a rate, and read within seconds
_LATEST = """
select action
from records
where list_contains($names, step)
qualify row_number() over (partition by step order by started desc, action) <= $most
order by action
"""


@dataclass(frozen=True)
class Given:
    """The outputs of one name or kind: their rows and bytes, and what these grow with."""

    rows: float
    rows_grow: float
    bytes: float
    bytes_grow: float


@dataclass(frozen=True)
class Observation:
    """One execution: its work by its script's law, its cost, and its outputs.

    `device_seconds` are seconds of one core, or of one GPU if `device` is cuda; `model` names its
    architecture, "" if it has none.
    """

    rule: str
    model: str
    device: str  # "" if not recorded, as in old records of exact steps
    work: float
    device_seconds: float
    peak_memory_mb: int
    given: Mapping[str, Given]


def observations(store: Store, scripts: Mapping[str, str]) -> list[Observation]:
    """Return the latest executions of some rules, given as rule -> script.

    At most MOST_RECORDS of each rule, by rule and action; none if nothing is recorded. Executions
    that grow with an unknown embedding dimension are omitted.
    """
    latest = ask_records(store, _LATEST, sorted(scripts), most=MOST_RECORDS)
    records = read_records(store, (action for (action,) in latest))
    history = _Past(store, list(records.values()))
    made = [each for each in records.values() if not _is_left_out(each)]
    ordered = sorted(made, key=lambda each: (each.ingredients.step, each.action))
    pairs = [(record, law_of(scripts[record.ingredients.step])) for record in ordered]
    read = [(record, law, history.reading(record, law)) for record, law in pairs]
    return [
        _observed(record, law, reading)
        for record, law, reading in read
        if reading.dimension or not (law.compares or law.wide)
    ]


def _is_left_out(record: Record) -> bool:
    """Return whether an action omitted its result, because its data were too small."""
    return any(output.pointer.is_left_out for output in record.outputs.values())


def output_kind(name: str, law: Law) -> str:
    """Return the name under which an output's rows and bytes count: `epochs` for `epochs/0003`."""
    return "" if law.one_name else name.partition("/")[0]


def model_of(settings: Json) -> str:
    """Return the name of the architecture that a step with these settings runs; "" for none."""
    model = settings.get("model") or {}
    recipe = settings.get("recipe") or model.get("recipe") or {}
    if "detector" in settings:
        return str(settings["detector"]["checkpoint"])
    architecture = settings.get("architecture") or model.get("architecture")
    if architecture:
        return str(architecture["open_clip"] or _named(architecture["definition"]))
    timm = model.get("classifier") or recipe
    if "model" in timm:
        return f"{timm['model']}{_named(timm.get('model_arguments') or {})}"
    return str((model.get("encoder") or {}).get("directory") or "")


def _named(definition: Json) -> str:
    return json.dumps(definition, sort_keys=True, separators=(",", ":")) if definition else ""


def _observed(record: Record, law: Law, reading: Reading) -> Observation:
    ran, environment = record.execution, record.ingredients.environment
    device = environment.get("device", ran.device).partition(" ")[0]
    units = int(environment.get("processes", 1)) if device == "cuda" else ran.threads
    return Observation(
        rule=record.ingredients.step,
        model=model_of(record.ingredients.settings),
        device=device,
        work=law.work(reading) * ran.share,
        device_seconds=ran.seconds * units,
        peak_memory_mb=ran.peak_memory_mb,
        given=_given(record, law, reading),
    )


def _given(record: Record, law: Law, reading: Reading) -> dict[str, Given]:
    found: dict[str, Given] = {}
    for name, output in record.outputs.items():
        kind = output_kind(name, law)
        before = found.get(kind, Given(0.0, 0.0, 0.0, 0.0))
        found[kind] = Given(
            rows=before.rows + output.pointer.rows,
            rows_grow=law.rows(kind, reading),
            bytes=before.bytes + output.pointer.bytes,
            bytes_grow=law.size(kind, reading),
        )
    return found


class _Past:
    """The origin of the inputs of some records."""

    def __init__(self, store: Store, records: Sequence[Record]) -> None:
        self._cache = ActionCache(store)
        self._records = records
        self._store = store
        self._given = cache(self._rows_given)
        self._dimensions: dict[str, int] = {}  # of the embeddings that an action read or gave

    def reading(self, record: Record, law: Law) -> Reading:
        """Return what an execution read."""
        made_of = record.ingredients
        rows = {
            name: float(sum(self._rows_of(file) for file in files))
            for name, files in made_of.inputs.items()
        }
        if law.counted:
            rows["tars"] = float(sum(record.outputs[name].pointer.rows for name in law.counted))
        files = {name: len(files) for name, files in made_of.inputs.items()}
        sharers = self._sharers[_share(record)] if law.shared else 1
        dimension = self._dimension(record) if law.compares or law.wide else UNKNOWN
        return Reading(rows, files, made_of.settings, sharers, dimension)

    def _dimension(self, record: Record) -> int:
        """Return the dimension of a model's embeddings, or of the embeddings that a step read."""
        if record.action not in self._dimensions:
            self._dimensions[record.action] = dimension_of(record.ingredients.settings) or max(
                map(self._dimension, self._first_makers(record)), default=UNKNOWN
            )
        return self._dimensions[record.action]

    def _first_makers(self, record: Record) -> list[Record]:
        """Return the maker of the first file of each input of embeddings; one file is enough."""
        inputs = [record.ingredients.inputs.get(name) for name in EMBEDDING_INPUTS]
        keys = [files[0].action for files in inputs if files and files[0].action]
        return list(read_records(self._store, keys).values())

    def _rows_of(self, file: ActionInput) -> float:
        return self._given(file.action).get(file.digest, 0) if file.action else 0.0

    def _rows_given(self, action: str) -> dict[str, int]:
        """Return the rows of an action's outputs, by digest."""
        outputs = self._cache.recorded(action) or {}
        rows = {output.pointer.digest: output.pointer.rows for output in outputs.values()}
        carried = "sealed" in outputs and read_records(self._store, [action]).get(action)
        if carried:
            below = carried.ingredients.inputs[law_of("seal").carries]
            rows[outputs["sealed"].pointer.digest] = int(sum(map(self._rows_of, below)))
        return rows

    @cached_property
    def _sharers(self) -> Counter[tuple[str, ...]]:
        return Counter(map(_share, self._records))


def _share(record: Record) -> tuple[str, ...]:
    """Return what executions that divide the rows of some files among them have in common."""
    files = record.ingredients.inputs.get(law_of("duplicates").shared, ())
    return (record.ingredients.step, *(file.digest for file in files))
