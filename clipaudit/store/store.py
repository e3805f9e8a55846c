"""The content-addressed store: objects, and the small pointers that name them.

    store/objects/ab/cdef...   an object: read-only, written whole, named by its SHA-256
    store/seen/<machine>/...   which objects this machine wrote or has hashed, and when they
                               were last modified then: a change since is noticed on reading
    store/unfinished/          temporary files; a kill leaves them here and nowhere else
    store/condemned/<run>/     what a `clipaudit gc` at work is about to remove: see
                               clipaudit.lineage.keeping.collection

A pointer is a JSON file of results/ with the digest, rows, bytes and schema name of an object,
and nothing else, so that identical content gives a byte-identical pointer.
"""

import contextlib
import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from clipaudit.errors import StoreError, TooSmall
from clipaudit.store.outputs import replaced

Damage = Literal["missing", "wrong size", "corrupt", "unreadable"]

CHUNK_BYTES = 1 << 20  # bytes hashed at once
LEFT_OUT = "left_out"  # schema name of a reason that stands in place of a result
_REASON = b"clipaudit left this out: "  # such an object begins with it


@dataclass(frozen=True, order=True)
class Pointer:
    """What names an object: its SHA-256 in hex, rows (0 where none), bytes and schema name."""

    digest: str
    rows: int
    bytes: int
    schema: str

    @property
    def is_left_out(self) -> bool:
        """Whether the object is no result, but a sentence that says why there is none."""
        return self.schema == LEFT_OUT

    def to_json(self) -> str:
        """Return the canonical text: sorted keys, one line."""
        return json.dumps(asdict(self), sort_keys=True) + "\n"

    @classmethod
    def read(cls, path: Path) -> "Pointer":
        """Read a pointer file; raise StoreError when there is none or it is not one."""
        try:
            return cls(**json.loads(path.read_text()))
        except FileNotFoundError as error:
            raise StoreError(
                f"{path}: no such pointer. Run `clipaudit run {path}` first."
            ) from error
        except (TypeError, ValueError) as error:
            message = f"{path}: not a pointer ({error}). Remove it and run its rule again."
            raise StoreError(message) from error
        except OSError as error:
            message = f"{path}: cannot be read ({error.strerror}). Give this user the right to."
            raise StoreError(message) from error


@dataclass(frozen=True)
class Flaw:
    """What is wrong with an object: the kind, and a sentence's end for people."""

    damage: Damage
    what: str


class Store:
    """The objects below one folder. Safe for any number of writers and readers at once."""

    def __init__(self, root: Path) -> None:
        """Open the store at `root`; folders are made when something is written."""
        self.root = root

    # --- reading -------------------------------------------------------------------------------

    def path(self, digest: str) -> Path:
        """Return where the object of this digest lies, whether it is there or not."""
        return self.root / "objects" / digest[:2] / digest[2:]

    def checked_path(self, pointer: Pointer) -> Path:
        """Return the object's path after checking size and modification time.

        An object whose time differs from when this machine last hashed it, or that this machine
        never hashed (a shared store, a copied one), is hashed first. Raise StoreError when it is
        missing or altered, and TooSmall, with the reason, when the result was left out.
        """
        path = self.path(pointer.digest)
        fault = self.fault(pointer)
        if fault:
            raise StoreError(
                f"{path}: {fault}. Remove it and run the same command again: "
                "what cannot be found in the store is computed."
            )
        if self.has_reason(pointer.digest):
            raise TooSmall(self.reason(pointer))
        return path

    def reason(self, pointer: Pointer) -> str:
        """Return why the result that a pointer stands for is left out."""
        return left_out_reason(self.path(pointer.digest)) or ""

    def fault(self, pointer: Pointer, *, rehash: bool = False) -> str | None:
        """Say what is wrong with the object of `pointer`, or None; `rehash` distrusts times."""
        flaw = self.flaw(pointer, rehash=rehash)
        return flaw.what if flaw else None

    def flaw(self, pointer: Pointer, *, rehash: bool = False) -> Flaw | None:
        """Return what is wrong with the object of `pointer`, or None; `rehash` distrusts times.

        What a collection has put aside for a moment is put back, and counts as there.
        """
        try:
            return self._flaw(pointer, rehash)
        except FileNotFoundError:
            if not self._rescue(pointer.digest):
                return Flaw("missing", "the object is missing")
        try:
            return self._flaw(pointer, rehash)
        except FileNotFoundError:
            return Flaw("missing", "the object is missing")

    def _flaw(self, pointer: Pointer, rehash: bool) -> Flaw | None:
        path = self.path(pointer.digest)
        try:
            status = path.stat()
            if status.st_size != pointer.bytes:
                what = f"the object has {status.st_size} bytes but its pointer says {pointer.bytes}"
                return Flaw("wrong size", what)
            if not rehash and self._seen_time(pointer.digest) == status.st_mtime_ns:
                return None
            found = file_sha256(path)
        except FileNotFoundError:
            raise
        except PermissionError as error:
            return Flaw("unreadable", f"the object cannot be read ({error.strerror})")
        except OSError as error:  # a bad block of a disk, for one
            return Flaw("corrupt", f"the object cannot be read ({error.strerror})")
        if found != pointer.digest:
            with contextlib.suppress(OSError):  # or steps would go on trusting its time
                self._seen_file(pointer.digest).unlink()
            what = f"the content is {found[:12]}... but the name {pointer.digest[:12]}..."
            return Flaw("corrupt", what)
        self._mark_seen(pointer.digest, status.st_mtime_ns)
        return None

    def has(self, digest: str) -> bool:
        """Return whether an object of this name exists, unchecked."""
        return self.path(digest).exists()

    def has_reason(self, digest: str) -> bool:
        """Return whether the object of this name is there and says why a result is left out."""
        with contextlib.suppress(OSError):
            return left_out_reason(self.path(digest)) is not None
        return False

    # --- writing -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def temporary(self) -> Iterator[Path]:
        """Give a path inside the store for a file to be committed; it never outlives the block."""
        folder = self.root / "unfinished"
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder)
        os.close(handle)
        path = Path(name)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def commit(self, path: Path, *, rows: int, schema: str) -> Pointer:
        """Move a finished file of `temporary` into the store, flushed to disk, and name it.

        An intact object of the same content stays, as young as one just written; an altered one
        is replaced.
        """
        digest = file_sha256(path)
        status = path.stat()
        pointer = Pointer(digest, rows, status.st_size, schema)
        target = self.path(digest)
        if self._freshen(pointer):
            return pointer
        target.parent.mkdir(parents=True, exist_ok=True)
        os.chmod(path, 0o444)
        flush(path)
        os.replace(path, target)
        flush(target.parent)
        self._mark_seen(digest, status.st_mtime_ns)
        return pointer

    def put(self, write: Callable[[Path], int], *, schema: str) -> Pointer:
        """Store what `write(path)` writes; it returns the number of rows (0 where none)."""
        with self.temporary() as path:
            rows = write(path)
            return self.commit(path, rows=rows, schema=schema)

    def put_reason(self, reason: TooSmall) -> Pointer:
        """Store why a result is left out, in place of the result."""
        return self.put_bytes(_REASON + str(reason).encode(), schema=LEFT_OUT)

    def put_bytes(self, content: bytes, *, schema: str) -> Pointer:
        """Store `content`, which has no rows."""
        with self.temporary() as path:
            path.write_bytes(content)
            return self.commit(path, rows=0, schema=schema)

    # --- beside a collection ---------------------------------------------------------------------

    def _freshen(self, pointer: Pointer) -> bool:
        """Make an intact object young, so that no collection takes it; False where it is none.

        Also where another user's object cannot be touched: writing it anew does as well.
        """
        path = self.path(pointer.digest)
        if not path.exists() or self.flaw(pointer):
            return False
        try:
            os.utime(path, follow_symlinks=False)  # of a link to a group's object: the link
            self._mark_seen(pointer.digest, path.stat().st_mtime_ns)
        except (FileNotFoundError, PermissionError):  # collected meanwhile; another user's
            return False
        return True

    def _rescue(self, digest: str) -> bool:
        """Put back an object that a collection, at work or killed, has put aside; say if it did."""
        inside = self.path(digest).relative_to(self.root)
        for aside in (self.root / "condemned").glob("*"):
            if put_back(aside / inside, self.root / inside):
                return True
        return False

    # --- what this machine has seen ------------------------------------------------------------

    def _seen_file(self, digest: str) -> Path:
        return self.root / "seen" / platform.node() / digest[:2] / digest[2:]

    def _seen_time(self, digest: str) -> int | None:
        try:
            return int(self._seen_file(digest).read_text())
        except (OSError, ValueError):
            return None

    def _mark_seen(self, digest: str, time_ns: int) -> None:
        with contextlib.suppress(OSError):  # a store for reading only: hashed again next time
            replace_text(self._seen_file(digest), str(time_ns))


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def replace_text(path: Path, text: str) -> None:
    """Write a small text file whole or not at all; a reader sees the old text or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as spare:
        spare.write_text(text)


def put_back(aside: Path, path: Path) -> bool:
    """Move a file to where it lay; what has come to lie there meanwhile stays. False: none to move.

    >>> put_back(Path("no such file"), Path("elsewhere"))
    False
    """
    try:
        os.link(aside, path, follow_symlinks=False)
    except FileExistsError:
        pass
    except FileNotFoundError:
        return False
    except OSError:  # this disk has no hard links
        with contextlib.suppress(FileNotFoundError):
            if not path.exists():
                os.rename(aside, path)
        return path.exists()
    aside.unlink(missing_ok=True)
    return True


def link_object(link: Path, target: Path) -> None:
    """Make `link` a relative symbolic link to `target`, replacing what was there in one step."""
    link.parent.mkdir(parents=True, exist_ok=True)
    relative = os.path.relpath(target, link.parent)
    spare = link.with_name(f".{link.name}.{os.getpid()}")
    spare.unlink(missing_ok=True)
    spare.symlink_to(relative)
    os.replace(spare, link)


def flush(path: Path) -> None:
    """Ask the disk to hold what was written to this file, or the names in this folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def left_out_reason(path: Path) -> str | None:
    """Return why a result is left out, of the object that stands in its place; None of others."""
    with path.open("rb") as file:
        if file.read(len(_REASON)) != _REASON:
            return None
        return file.read().decode()
