"""A group's store: take results that others have computed, and give ours if requested.

Everything is read from the user's own store. Taking an action makes its objects symbolic links to
the group's store, each hashed before use, and copies its small record files. So `why`, `verify` and
`gc` need no second store, and the group's is never changed. The writer of an action there is the
file's owner in the file system, which is more reliable than the file's content.
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
    """A store for reading, which only `give` writes to."""

    def __init__(
        self, path: Path, *, write: bool = False, trusted_writers: Collection[str] | None = None
    ) -> None:
        """Open the store at `path`; `trusted_writers` None trusts all users who can write there.

        Raise StoreError if the folder is missing: computing without it could cost GPU weeks.
        """
        if not path.is_dir():
            raise StoreError(
                f"shared_store.path: {path}: no such folder. Mount its disk, create it, or remove "
                "the section shared_store from the settings."
            )
        self.store = Store(path)
        self.write = write
        self._trusted = trusted_writers

    @classmethod
    def of_settings(cls, settings: Json | None) -> "GroupStore | None":
        """Return the store of the section `shared_store`; None if there is none."""
        if settings is None:
            return None
        return cls(
            Path(settings["path"]),
            write=settings["write"],
            trusted_writers=settings["trusted_writers"],
        )

    def offer(self, key: str) -> dict[str, ActionOutput] | None:
        """Return the outputs of the action `key` by a trusted writer; None if there is none.

        Only the size of the objects is checked.
        """
        writer = self._writer(key)
        if writer is None:
            return None
        if self._trusted is not None and writer not in self._trusted:
            logger.info(
                "not taken from %s: action %s belongs to %s, who is not in shared_store."
                "trusted_writers", self.store.root, key, writer,
            )  # fmt: skip
            return None
        outputs = ActionCache(self.store).recorded(key)
        return outputs if all(map(self._lies_whole, (outputs or {}).values())) else None

    def _lies_whole(self, output: ActionOutput) -> bool:
        """Return whether an object exists with the right size; `take` hashes it."""
        path, expected = self.store.path(output.pointer.digest), output.pointer.bytes
        size = path.stat().st_size if path.exists() else None
        if size != expected:
            found = "is missing" if size is None else f"has {size} bytes instead of {expected}"
            logger.warning("%s: the object %s, so its action is not taken.", path, found)
        return size == expected

    def take(self, own: Store, key: str) -> dict[str, ActionOutput] | None:
        """Add the outputs of the action `key` to the `own` store; None if it must be computed.

        For a missing or altered object, or an unreadable record, warn and take nothing.
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
        try:
            self._copy_lineage(self.store, own, key)
        except StoreError as error:
            logger.warning("%s Computing the action instead of taking it.", error)
            return None
        ActionCache(own).record(key, outputs)
        logger.info("taken from %s: action %s", self.store.root, key)
        return outputs

    def give(self, own: Store, key: str, results: Path) -> None:
        """Copy the outputs of the action `key` there, if they are missing; warn if that fails.

        The folder `results` becomes a root of that store, so its gc keeps these outputs.
        """
        try:
            with group_rights(self.store.root):
                if self._writer(key) is None:
                    self._give(own, key)
                register(self.store, results)
        except OSError as error:
            logger.warning(
                "%s: %s: results stay only in %s. Ask for space or write permission there, or set "
                "shared_store.write to false.",
                error.filename or self.store.root, error.strerror, own.root,
            )  # fmt: skip
        except StoreError as error:
            logger.warning("%s Results stay only in %s.", error, own.root)

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
        """Link an object that the own store lacks; return whether a link was made."""
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
        """Return the owner of an action's file in the file system; None if it is missing."""
        with suppress(FileNotFoundError):
            return user_name(ActionCache(self.store).file(key).stat().st_uid)
        return None


def user_name(uid: int) -> str:
    """Return the name of a user of this machine, or the number if it has no name.

    >>> user_name(0), user_name(4_000_000_000)
    ('root', '4000000000')
    """
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@contextmanager
def group_rights(root: Path) -> Iterator[None]:
    """Let the group write into folders made in this block, if it may write into `root`.

    A store belongs to a group if its folder does: `chgrp lab store; chmod g+ws store`, as in git.
    """
    before = os.umask(0o077)
    shared = root.is_dir() and root.stat().st_mode & stat.S_IWGRP
    os.umask(before & ~0o070 if shared else before)
    try:
        yield
    finally:
        os.umask(before)
