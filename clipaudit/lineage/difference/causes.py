"""Causes: the first differences upstream of a table between two runs.

The actions behind a table are walked in both runs together, pairing inputs by path. If their
content is the same, nothing below is a cause, whatever made it. If it differs, the walk goes on in
both makers, down to what no action made: a user's file, a setting, code, the environment of a
numeric step. Each pair of actions is read once, level by level.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from clipaudit.lineage.difference.ingredient_changes import (
    Cause,
    File,
    match_files,
    own_causes,
    unnamed_cause,
)
from clipaudit.lineage.snapshots import Placed, RecordedRun
from clipaudit.plaindata import Row
from clipaudit.plaintext import many
from clipaudit.store.actions import ActionInput
from clipaudit.store.records import Record, read_records

READ_AT_ONCE = 20_000  # records held in memory together
NAMED = 3  # files that a cause names; of more it tells the number

# Two actions, one of each run; None if only the other run has such an input.
Pair = tuple[str | None, str | None]
NOTHING: Pair = (None, None)


@dataclass(frozen=True)
class _Link:
    """An input that differs: its labels in each run that has it, and what explains it.

    `otherwise` explains an input that one run lacks, if nothing below it is new.
    """

    labels: tuple[Mapping[str, str], ...]
    target: Pair | Cause
    otherwise: Cause | None = None


@dataclass
class _Node:
    """The differences of two actions: in their own ingredients, and in inputs."""

    step: str
    own: list[Cause] = field(default_factory=list)
    links: list[_Link] = field(default_factory=list)


class Causes:
    """Why tables differ between two runs.

    `causes` are numbered from 1 in their order: `first` ones, which act somewhere with nothing
    different below, then those that act only on differing inputs.
    """

    def __init__(
        self, before: RecordedRun, after: RecordedRun, tables: Mapping[str, tuple[Placed, Placed]]
    ) -> None:
        """Walk the actions behind tables that differ, by path; a walk ends at a missing record."""
        self._runs = (before, after)
        self._tables = {path: _target(path, *placed) for path, placed in tables.items()}
        pairs = [target for target in self._tables.values() if not isinstance(target, Cause)]
        self._below = cache(
            lambda side: all_below(self._runs[side], (pair[side] for pair in pairs))
        )
        self._nodes: dict[Pair, _Node] = {}
        self._steps: dict[Cause, set[str]] = {}  # in the order in which they were found
        self._firsts: set[Cause] = set()
        self._reach: dict[Pair, frozenset[Cause]] = {NOTHING: frozenset()}
        self._rows: dict[tuple[object, ...], tuple[int, ...]] = {}
        self._walk(pairs)
        for pair in pairs:
            self._follow(pair)
        for target in self._tables.values():
            if isinstance(target, Cause):
                self._note(target, None, is_first=True)
        self.first = frozenset(self._firsts)  # as of now: questions about rows add more
        self.causes = sorted(self._steps, key=self._order)
        self._rank = {cause: rank for rank, cause in enumerate(self.causes, 1)}

    # --- answers -------------------------------------------------------------------------------

    def steps(self, cause: Cause) -> list[str]:
        """Return the steps whose actions differ because of a cause, sorted."""
        return sorted(self._steps[cause])

    def of_table(self, path: str) -> tuple[int, ...]:
        """Return the numbers of the causes that reach a table, ascending."""
        return self._ranks(self._reached(self._tables[path]))

    def of_row(self, path: str, row: Row) -> tuple[int, ...]:
        """Return the numbers of a table's causes that concern a row with these values, ascending.

        Causes through an input whose labels contradict the row are omitted (`testset` is `val`, and
        the input is of another test set), unless none would remain.
        """
        target = self._tables[path]
        if isinstance(target, Cause):
            return self.of_table(path)
        node = self._nodes[target]
        names = {name for link in node.links for labels in link.labels for name in labels}
        said = {name: str(row[name]) for name in names if row.get(name)}
        question = (target, *sorted(said.items()))
        if question not in self._rows:
            concerned = [link for link in node.links if _concerns(link, said)]
            self._rows[question] = self._ranks(self._sum(node, concerned)) or self.of_table(path)
        return self._rows[question]

    def _ranks(self, causes: Iterable[Cause]) -> tuple[int, ...]:
        return tuple(sorted(self._rank[cause] for cause in causes))

    def _order(self, cause: Cause) -> tuple[object, ...]:
        return cause not in self.first, cause.order()

    # --- the walk ------------------------------------------------------------------------------

    def _walk(self, pairs: Iterable[Pair]) -> None:
        waiting, known = list(dict.fromkeys(pairs)), {NOTHING, *pairs}
        while waiting:
            level, waiting = waiting[:READ_AT_ONCE], waiting[READ_AT_ONCE:]
            old, new = self._records(level)
            for pair in level:
                node = self._nodes[pair] = self._node(pair, old, new)
                found = {link.target for link in node.links if not isinstance(link.target, Cause)}
                waiting += sorted(found - known, key=str)
                known |= found

    def _records(self, level: Sequence[Pair]) -> tuple[dict[str, Record], dict[str, Record]]:
        stores = (self._runs[0].store, self._runs[1].store)
        old, new = ([key for pair in level if (key := pair[side])] for side in (0, 1))
        if stores[0].root == stores[1].root:  # open each packed file only once
            both = read_records(stores[0], [*old, *new])
            return both, both
        return read_records(stores[0], old), read_records(stores[1], new)

    def _node(self, pair: Pair, old: Mapping[str, Record], new: Mapping[str, Record]) -> _Node:
        for key, records in zip(pair, (old, new), strict=True):
            if key and key not in records:
                return _Node("?", own=[Cause("not recorded", f"action {key}", None, None)])
        before, after = pair
        if before and after:
            return self._both(old[before], new[after])
        return self._alone(0, old[before]) if before else self._alone(1, new[after or ""])

    def _both(self, old: Record, new: Record) -> _Node:
        """Compare two actions: their own ingredients, and the inputs that differ."""
        before, after = old.ingredients, new.ingredients
        stores = (self._runs[0].store, self._runs[1].store)
        node = _Node(after.step, own_causes(before, after, stores))
        for name in sorted(before.inputs.keys() | after.inputs.keys()):
            inputs = [
                run.files(made_of.inputs.get(name, ()))
                for run, made_of in zip(self._runs, (before, after), strict=True)
            ]
            matched = match_files(*inputs)
            gone = [old[0] for old, new in matched if old and not new]
            added = [new[0] for old, new in matched if new and not old]
            title = f"which files are input {name}"
            which = Cause("settings", title, _named(gone), _named(added))
            for old_file, new_file in matched:
                node.links += self._link(old_file, new_file, which)
        if not node.own and not node.links:
            node.own = [unnamed_cause(before, after)]
        return node

    def _alone(self, side: int, record: Record) -> _Node:
        """Search below an input that one run lacks for what that run has nowhere."""
        node = _Node(record.ingredients.step)
        for files in record.ingredients.inputs.values():
            for path, file in self._runs[side].files(files):
                link = self._only(side, path, file, None)
                if link.target != NOTHING:
                    node.links.append(link)
        return node

    def _link(self, old: File | None, new: File | None, which: Cause) -> list[_Link]:
        """Return the links that explain why two files differ, or why one run lacks a file."""
        if old and new:
            (path, before), (_, after) = old, new
            if before.digest == after.digest:
                return []
            target = self._changed(path, before, after)
            return [_Link((before.labels, after.labels), target)]
        return [self._only(side, *file, which) for side, file in enumerate((old, new)) if file]

    def _changed(self, path: str, before: ActionInput, after: ActionInput) -> Pair | Cause:
        old, new = self._runs[0].maker(before), self._runs[1].maker(after)
        if old is None or new is None:
            return Cause("data", path, before.digest, after.digest)
        if old == new:
            return Cause("not reproduced", path, before.digest, after.digest)
        return old, new

    def _only(self, side: int, path: str, file: ActionInput, which: Cause | None) -> _Link:
        """Return the link to a file of one run; to NOTHING if the other knows what made it."""
        key, other = self._runs[side].maker(file), self._below(1 - side)
        labels = (file.labels,)
        if key is None:
            is_new = path not in other.files
            cause = Cause("data", path, *_on(side, file.digest))
            return _Link(labels, cause if is_new else NOTHING, which)
        return _Link(labels, _on(side, key) if key not in other.actions else NOTHING, which)

    # --- propagation ---------------------------------------------------------------------------

    def _follow(self, pair: Pair) -> None:
        """Collect the causes below a pair, starting with the pairs below it."""
        waiting, entered = [pair], set()
        while waiting:
            top = waiting[-1]
            targets = (link.target for link in self._nodes[top].links)
            below = [each for each in targets if not isinstance(each, Cause)]
            unsummed = [each for each in below if each not in self._reach]
            if top in self._reach or top in entered or not unsummed:
                waiting.pop()
                if top not in self._reach:
                    self._reach[top] = self._sum(self._nodes[top], self._nodes[top].links)
            else:
                entered.add(top)
                waiting += unsummed

    def _sum(self, node: _Node, links: Iterable[_Link]) -> frozenset[Cause]:
        """Return a node's own causes and those through some links."""
        found: set[Cause] = set()
        for link in links:
            reached = self._reached(link.target, node)
            if not reached and link.otherwise and not node.own:
                reached = self._note(link.otherwise, node, is_first=True)
            found |= reached
        for cause in node.own:
            self._note(cause, node, is_first=not found)
        return frozenset([*found, *node.own])

    def _reached(self, target: Pair | Cause, reader: _Node | None = None) -> frozenset[Cause]:
        if isinstance(target, Cause):
            return self._note(target, reader, is_first=True)
        return self._reach.get(target, frozenset())

    def _note(self, cause: Cause, node: _Node | None, *, is_first: bool) -> frozenset[Cause]:
        """Note a cause, and the step whose action it changes; return a set of only this cause."""
        self._steps.setdefault(cause, set()).update({node.step} if node else ())
        if is_first:
            self._firsts.add(cause)
        return frozenset([cause])


def _target(path: str, old: Placed, new: Placed) -> Pair | Cause:
    keys = (old.placement.action, new.placement.action)
    if keys[0] == keys[1]:
        return Cause("not reproduced", path, old.pointer.digest, new.pointer.digest)
    return keys


def _named(paths: Sequence[str]) -> str | None:
    """Return the files that only one run has as a text, of many their number; None if none."""
    return (", ".join(paths) if len(paths) <= NAMED else many(len(paths), "file")) or None


def _on(side: int, value: str) -> tuple[str | None, str | None]:
    return (value, None) if side == 0 else (None, value)


def _concerns(link: _Link, row: Mapping[str, str]) -> bool:
    """Return whether an input's labels, in some version, agree with a row's values of them."""
    return any(
        all(row.get(name, value) == value for name, value in labels.items())
        for labels in link.labels
    )


class Below(NamedTuple):
    """Keys of actions, and the recorded paths of users' files that these read."""

    actions: set[str]
    files: set[str]


def all_below(run: RecordedRun, keys: Iterable[str | None]) -> Below:
    """Return some actions and all actions below them; a walk ends at a missing record."""
    actions = {key for key in keys if key}
    files: set[str] = set()
    waiting = list(actions)
    while waiting:
        level, waiting = waiting[:READ_AT_ONCE], waiting[READ_AT_ONCE:]
        for record in read_records(run.store, level).values():
            inputs = [file for each in record.ingredients.inputs.values() for file in each]
            files.update(file.path for file in inputs if file.action is None)
            new = {key for file in inputs if (key := run.maker(file))} - actions
            actions |= new
            waiting += new
    return Below(actions, files)
