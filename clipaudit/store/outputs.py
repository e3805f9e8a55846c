"""Files and folders that are written whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clipaudit.errors import InputError


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Give an empty file beside `path` that takes its place if the block ends well.

    Whoever opens `path` meanwhile has the old content or the new; where the block raises, it stays
    as it was. All may read it, as its owner alone may write it. Its folder must exist.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole, or leave it as it was; its folder must exist."""
    with replaced(path) as part:
        part.write_bytes(content)


@contextmanager
def whole_output(path: Path, *, force: bool, mark: str | None = None) -> Iterator[Path]:
    """Give a path to write a file or folder at, which becomes `path` when the block ends.

    Nothing is left where the block raises. What lies at `path` is refused without `force`; with it
    a file is replaced, and a folder only if it is empty or holds the file `mark`, as folders that
    we write do: `force` never empties a folder of another kind. Raise InputError.
    """
    _refuse(path, force, mark)
    try:
        spare = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name[:40]}."))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}). Name a place in a folder of yours."
        ) from error
    try:
        new = spare / "new"
        yield new
        _refuse(path, force, mark)  # it may have come to be meanwhile
        if os.path.lexists(path) and (path.is_dir() or new.is_dir()):
            os.rename(path, spare / "old")  # a folder and what is none do not replace each other
        os.replace(new, path)
    finally:
        shutil.rmtree(spare, ignore_errors=True)


def _refuse(path: Path, force: bool, mark: str | None) -> None:
    if not os.path.lexists(path):
        return
    if not force:
        raise InputError(f"{path}: exists. Name another output, or replace it by --force.")
    if path.is_dir():
        ours = mark is not None and (path / mark).is_file()
        if not ours and any(path.iterdir()):
            raise InputError(
                f"{path}: a folder that holds {'no ' + mark if mark else 'something'}: "
                "--force would lose what is not an export. Name another output."
            )
