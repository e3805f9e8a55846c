"""Write files and folders whole or not at all."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clipaudit.errors import InputError
from clipaudit.store.disks import disk_error


@contextmanager
def replaced(path: Path, *, for_group: bool = False) -> Iterator[Path]:
    """Give an empty file beside `path` that replaces it if the block succeeds.

    Readers of `path` see the old or the new content; if the block raises, it stays unchanged. All
    may read it; only its owner may write it, and with `for_group` a group that may write into its
    folder. Its folder must exist.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    os.close(handle)
    try:
        yield Path(name)
        group = path.parent.stat().st_mode & stat.S_IWGRP if for_group else 0
        os.chmod(name, 0o644 | group)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole, or leave it unchanged; its folder must exist."""
    with replaced(path) as part:
        part.write_bytes(content)


@contextmanager
def whole_output(path: Path, *, force: bool, mark: str | None = None) -> Iterator[Path]:
    """Give a path for writing a file or folder, which becomes `path` when the block ends.

    If the block raises, nothing remains; a full disk raises StoreError. Without `force`, an
    existing `path` raises InputError. With `force`, a file is replaced, and a folder only if it is
    empty or holds the file `mark`, as our folders do: other folders are never emptied and raise
    InputError.
    """
    _refuse(path, force, mark)
    try:
        spare = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name[:40]}."))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}). Choose a folder that you can write to."
        ) from error
    try:
        new = spare / "new"
        yield new
        _refuse(path, force, mark)  # it may have appeared meanwhile
        if os.path.lexists(path) and (path.is_dir() or new.is_dir()):
            _move(path, spare / "old")  # a folder and a file cannot replace each other
        os.replace(new, path)
    except Exception as error:
        refused = disk_error(error, among=str(path))
        if refused is None:
            raise
        raise refused from error
    finally:
        shutil.rmtree(spare, ignore_errors=True)


def _move(path: Path, aside: Path) -> None:
    try:
        os.rename(path, aside)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be replaced ({error.strerror}). Name another output, such as a new "
            "folder in it."
        ) from error


def _refuse(path: Path, force: bool, mark: str | None) -> None:
    if not os.path.lexists(path):
        return
    if not force:
        raise InputError(f"{path}: exists. Name another output, or replace it with --force.")
    if path.is_dir():
        ours = mark is not None and (path / mark).is_file()
        if not ours and any(path.iterdir()):
            raise InputError(
                f"{path}: a folder that {'has no ' + mark if mark else 'is not empty'}: "
                "--force would delete other files than an export. Name another output."
            )
