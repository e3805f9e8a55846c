"""What lies below some actions of a run: the actions that they come from, and users' files."""

from collections.abc import Iterable
from functools import cached_property

from clipaudit.lineage.snapshots import Run
from clipaudit.store.records import read_records

READ_AT_ONCE = 20_000  # records that are held in memory together


class Below:
    """All actions below some, these too, and the users' files that they read; found when asked."""

    def __init__(self, run: Run, keys: Iterable[str | None]) -> None:
        """Take the actions to begin with; a walk ends where a record is missing."""
        self._run = run
        self._keys = [key for key in keys if key]

    @property
    def actions(self) -> set[str]:
        """Return the keys of the actions."""
        return self._found[0]

    @property
    def files(self) -> set[str]:
        """Return the paths of users' files, as they were recorded."""
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[set[str], set[str]]:
        actions: set[str] = set(self._keys)
        files: set[str] = set()
        waiting = list(actions)
        while waiting:
            level, waiting = waiting[:READ_AT_ONCE], waiting[READ_AT_ONCE:]
            for record in read_records(self._run.store, level).values():
                inputs = [file for each in record.ingredients.inputs.values() for file in each]
                files.update(file.path for file in inputs if file.action is None)
                new = {key for file in inputs if (key := self._run.maker(file))} - actions
                actions |= new
                waiting += new
        return actions, files
