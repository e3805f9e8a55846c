"""A group's store: what others have computed is taken from it, and given to it where that is asked.

The own store stays the one that everything is read from. To take an action is to make its objects
symbolic links to those of the group's store, each hashed before it is used, and to copy the small
files that say what gave it: so `why`, `verify` and `gc` know of no second store, and nothing is
ever changed in the group's. Who wrote an action there is asked of the file system, which knows it
better than the file.
"""

import logging
import os
import pwd
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from clipaudit.errors import StoreError
from clipaudit.plaindata import Json
from clipaudit.store.actions import ActionCache, ActionOutput
from clipaudit.store.code_records import read_code, write_code
from clipaudit.store.records import read_records, write_record
from clipaudit.store.roots import register
from clipaudit.store.store import Store

logger = logging.getLogger(__name__)


class GroupStore:
    """A store that is read, and written to only by `give`."""

    def __init__(
        self, path: Path, *, write: bool = False, trusted_writers: Collection[str] | None = None
    ) -> None:
        """Open the store at `path`; `trusted_writers` None trusts all that may write there.

        StoreError where there is no such folder: to compute without it could cost GPU weeks.
        """
        if not path.is_dir():
            raise StoreError(
                f"shared_store.path: {path}: no such folder. Mount its disk, make it, or take the "
                "section shared_store out of the settings."
            )
        self.store = Store(path)
        self.write = write
        self._trusted = trusted_writers

    @classmethod
    def of_settings(cls, settings: Json | None) -> "GroupStore | None":
        """Return the store of the section `shared_store`; None where there is none."""
        if settings is None:
            return None
        return cls(
            Path(settings["path"]),
            write=settings["write"],
            trusted_writers=settings["trusted_writers"],
        )

    def offer(self, key: str) -> dict[str, ActionOutput] | None:
        """Return what the action of `key` gave, as a trusted writer says; None where there is none.

        Of the objects only the size is looked at.
        """
        writer = self._writer(key)
        if writer is None:
            return None
        if self._trusted is not None and writer not in self._trusted:
            logger.info(
                "not taken from %s: action %s is %s's, who is not among shared_store."
                "trusted_writers", self.store.root, key, writer,
            )  # fmt: skip
            return None
        outputs = ActionCache(self.store).recorded(key)
        return outputs if all(map(self._lies_whole, (outputs or {}).values())) else None

    def _lies_whole(self, output: ActionOutput) -> bool:
        """Say whether an object is there and has its size; who takes it hashes it."""
        path, expected = self.store.path(output.pointer.digest), output.pointer.bytes
        size = path.stat().st_size if path.exists() else None
        if size != expected:
            found = "is missing" if size is None else f"has {size} bytes instead of {expected}"
            logger.warning("%s: the object %s, so its action is not taken.", path, found)
        return size == expected

    def take(self, own: Store, key: str) -> dict[str, ActionOutput] | None:
        """Make what the action of `key` gave part of the `own` store; None where it is to compute.

        An object that is missing or altered is a warning, and nothing is taken.
        """
        outputs = self.offer(key)
        if outputs is None:
            return None
        for name, output in outputs.items():
            digest = output.pointer.digest
            linked = self._link(own, digest)
            fault = own.fault(output.pointer)
            if fault:
                if linked:
                    own.path(digest).unlink(missing_ok=True)
                logger.warning(
                    "%s: output %s (%s) cannot be used: %s. Computing it.",
                    self.store.root, name, digest, fault,
                )  # fmt: skip
                return None
        self._copy_lineage(self.store, own, key)
        ActionCache(own).record(key, outputs)
        logger.info("taken from %s: action %s", self.store.root, key)
        return outputs

    def give(self, own: Store, key: str, results: Path) -> None:
        """Put what the action of `key` gave there, if it is not; where that fails, warn.

        The folder `results` becomes a root of that store: its gc keeps what was given.
        """
        try:
            with group_rights(self.store.root):
                if self._writer(key) is None:
                    self._give(own, key)
                register(self.store, results)
        except OSError as error:
            logger.warning(
                "%s: %s: what was computed stays in %s alone. Ask for space or the right to write "
                "there, or set shared_store.write to false.",
                error.filename or self.store.root, error.strerror, own.root,
            )  # fmt: skip

    def _give(self, own: Store, key: str) -> None:
        outputs = ActionCache(own).recorded(key) or {}
        for output in outputs.values():
            pointer = output.pointer
            if not self.store.has(pointer.digest):
                with self.store.temporary() as path:
                    shutil.copyfile(own.path(pointer.digest), path)
                    self.store.commit(path, rows=pointer.rows, schema=pointer.schema)
        self._copy_lineage(own, self.store, key)
        ActionCache(self.store).record(key, outputs)

    def _link(self, own: Store, digest: str) -> bool:
        """Make a missing object of the own store a link; say whether it was made."""
        path = own.path(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() and not path.exists():  # the group's store has moved
            path.unlink()
        with suppress(FileExistsError):
            path.symlink_to(os.path.abspath(self.store.path(digest)))
            return True
        return False

    @staticmethod
    def _copy_lineage(source: Store, target: Store, key: str) -> None:
        for record in read_records(source, [key]).values():
            write_record(target, record)
            code = read_code(source, record.ingredients.code)
            if code is not None:
                write_code(target, record.ingredients.code, code)

    def _writer(self, key: str) -> str | None:
        """Return who wrote the action of `key`, as the file system says; None if nobody did."""
        with suppress(FileNotFoundError):
            return user_name(ActionCache(self.store).file(key).stat().st_uid)
        return None


def user_name(uid: int) -> str:
    """Return the name of a user of this machine, or the number where it has none.

    >>> user_name(0), user_name(4_000_000_000)
    ('root', '4000000000')
    """
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@contextmanager
def group_rights(root: Path) -> Iterator[None]:
    """Let the group write into folders that are made meanwhile, where it may into `root` itself.

    A store is a group's if its folder is: `chgrp lab store; chmod g+ws store`, as git does it.
    """
    before = os.umask(0o077)
    shared = root.is_dir() and root.stat().st_mode & stat.S_IWGRP
    os.umask(before & ~0o070 if shared else before)
    try:
        yield
    finally:
        os.umask(before)
