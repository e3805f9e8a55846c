"""The content-addressed store: objects, and small pointers that name them.

    store/objects/ab/cdef...   an object: read-only, written whole, named by its SHA-256
    store/seen/<machine>/...   objects that this machine wrote or hashed, with their
                               modification times: later changes are noticed on reading
    store/unfinished/          temporary files; a kill leaves them only here
    store/condemned/<run>/     what a running `clipaudit gc` is about to remove: see
                               clipaudit.lineage.keeping.collection

A pointer is a JSON file of results/ with the digest, rows, bytes and schema name of an object,
and nothing else, so that identical content gives a byte-identical pointer.
"""

import contextlib
import errno
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

CHUNK_BYTES = 1 << 20  # bytes hashed at a time
LEFT_OUT = "left_out"  # schema name of a reason stored in place of a result
_REASON = b"clipaudit left this out: "  # prefix of such an object


@dataclass(frozen=True, order=True)
class Pointer:
    """The name of an object: its SHA-256 in hex, rows (0 if none), bytes and schema name."""

    digest: str
    rows: int
    bytes: int
    schema: str

    @property
    def is_left_out(self) -> bool:
        """Whether the object is not a result, but the reason why there is none."""
        return self.schema == LEFT_OUT

    def to_json(self) -> str:
        """Return the canonical text: sorted keys, one line."""
        return json.dumps(asdict(self), sort_keys=True) + "\n"

    @classmethod
    def read(cls, path: Path) -> "Pointer":
        """Read a pointer file; raise StoreError if it is missing or not a pointer."""
        try:
            return cls(**json.loads(path.read_text()))
        except FileNotFoundError as error:
            raise StoreError(
                f"{path}: no such pointer. Run `clipaudit run SETTINGS {path}` first."
            ) from error
        except (TypeError, ValueError) as error:
            message = f"{path}: not a pointer ({error}). Remove it and run its rule again."
            raise StoreError(message) from error
        except OSError as error:
            message = f"{path}: cannot be read ({error.strerror}). Give this user read permission."
            raise StoreError(message) from error


@dataclass(frozen=True)
class Flaw:
    """A fault of an object: its kind, and a text for messages."""

    damage: Damage
    what: str


class Store:
    """The objects below one folder, safe for any number of concurrent writers and readers."""

    def __init__(self, root: Path) -> None:
        """Open the store at `root`; folders are created on the first write."""
        self.root = root

    # --- reading -------------------------------------------------------------------------------

    def path(self, digest: str) -> Path:
        """Return the path of the object with this digest, which may not exist."""
        return self.root / "objects" / digest[:2] / digest[2:]

    def checked_path(self, pointer: Pointer) -> Path:
        """Return the object's path after checking size and modification time.

        An object modified since this machine last hashed it, or never hashed here (a shared or
        copied store), is hashed first. Raise StoreError if it is missing or altered, and TooSmall
        with the reason if the result was omitted.
        """
        path = self.path(pointer.digest)
        flaw = self.flaw(pointer)
        if flaw:
            next_step = "`clipaudit verify --repair --configfile SETTINGS` computes it again."
            if flaw.damage == "unreadable":
                next_step = "Give this user permission for it."
            raise StoreError(f"{path}: {flaw.what}. {next_step}")
        if self.has_reason(pointer.digest):
            raise TooSmall(self.reason(pointer))
        return path

    def reason(self, pointer: Pointer) -> str:
        """Return the reason why a pointer's result is omitted."""
        return left_out_reason(self.path(pointer.digest)) or ""

    def fault(self, pointer: Pointer, *, rehash: bool = False) -> str | None:
        """Describe the fault of `pointer`'s object, or return None; `rehash` ignores times."""
        flaw = self.flaw(pointer, rehash=rehash)
        return flaw.what if flaw else None

    def flaw(self, pointer: Pointer, *, rehash: bool = False) -> Flaw | None:
        """Return the fault of `pointer`'s object, or None; `rehash` ignores times.

        An object that a collection has moved aside is moved back, and counts as present.
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
                what = f"the object has {status.st_size} bytes, its pointer says {pointer.bytes}"
                return Flaw("wrong size", what)
            if not rehash and self._seen_time(pointer.digest) == status.st_mtime_ns:
                return None
            found = file_sha256(path)
        except FileNotFoundError:
            raise
        except PermissionError as error:
            return Flaw("unreadable", f"the object cannot be read ({error.strerror})")
        except OSError as error:  # such as a bad disk block
            return Flaw("corrupt", f"the object cannot be read ({error.strerror})")
        if found != pointer.digest:
            with contextlib.suppress(OSError):  # else steps would still trust its time
                self._seen_file(pointer.digest).unlink()
            what = f"its content is {found[:12]}... but its name is {pointer.digest[:12]}..."
            return Flaw("corrupt", what)
        self._mark_seen(pointer.digest, status.st_mtime_ns)
        return None

    def has(self, digest: str) -> bool:
        """Return whether an object of this name exists, without checking it."""
        return self.path(digest).exists()

    def has_reason(self, digest: str) -> bool:
        """Return whether this object exists and is the reason for an omitted result."""
        with contextlib.suppress(OSError):
            return left_out_reason(self.path(digest)) is not None
        return False

    # --- writing -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def temporary(self) -> Iterator[Path]:
        """Give a path in the store for a file to commit; it is removed when the block ends."""
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
        """Move a finished file of `temporary` into the store, flush it, and return its pointer.

        An intact object of the same content stays, with a new time; an altered one is replaced.
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
        """Store the file that `write(path)` writes; it returns the number of rows (0 if none)."""
        with self.temporary() as path:
            rows = write(path)
            return self.commit(path, rows=rows, schema=schema)

    def put_reason(self, reason: TooSmall) -> Pointer:
        """Store the reason why a result is omitted, in place of the result."""
        return self.put_bytes(_REASON + str(reason).encode(), schema=LEFT_OUT)

    def put_bytes(self, content: bytes, *, schema: str) -> Pointer:
        """Store `content`, which has no rows."""
        with self.temporary() as path:
            path.write_bytes(content)
            return self.commit(path, rows=0, schema=schema)

    # --- during a collection ---------------------------------------------------------------------

    def _freshen(self, pointer: Pointer) -> bool:
        """Give an intact object a new time, so that no collection takes it; False if not intact.

        Also False if another user's object cannot be touched: it can be written again.
        """
        path = self.path(pointer.digest)
        if not path.exists() or self.flaw(pointer):
            return False
        try:
            os.utime(path, follow_symlinks=False)  # touch the link, not a group's object
            self._mark_seen(pointer.digest, path.stat().st_mtime_ns)
        except (FileNotFoundError, PermissionError):  # collected meanwhile, or another user's
            return False
        return True

    def _rescue(self, digest: str) -> bool:
        """Move back an object that a collection (running or killed) moved aside; return success."""
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
        with contextlib.suppress(OSError):  # a read-only store: hashed again next time
            replace_text(self._seen_file(digest), str(time_ns))


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def replace_text(path: Path, text: str, *, for_group: bool = False) -> None:
    """Write a small text file whole or not at all; a reader sees the old text or the new.

    `for_group` is that of `replaced`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path, for_group=for_group) as spare:
        spare.write_text(text)


def put_back(aside: Path, path: Path) -> bool:
    """Move a file back to `path` unless a new file is there; False if there is no file to move.

    >>> put_back(Path("no such file"), Path("elsewhere"))
    False
    """
    try:
        os.link(aside, path, follow_symlinks=False)
    except FileExistsError:
        pass
    except FileNotFoundError:
        return False
    except OSError:  # the disk has no hard links
        with contextlib.suppress(FileNotFoundError):
            if not path.exists():
                os.rename(aside, path)
        return path.exists()
    aside.unlink(missing_ok=True)
    return True


def link_object(link: Path, target: Path) -> None:
    """Make `link` a relative symbolic link to `target`, replacing an old one atomically.

    The results folder may itself be a link; `..` then starts in the folder that it leads to. Raises
    StoreError for a disk without symbolic links, such as a mounted bucket.
    """
    link.parent.mkdir(parents=True, exist_ok=True)
    relative = os.path.relpath(target, os.path.realpath(link.parent))
    spare = link.with_name(f".{link.name}.{os.getpid()}")
    spare.unlink(missing_ok=True)
    try:
        spare.symlink_to(relative)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOSYS, errno.ENOTSUP):
            raise
        raise StoreError(
            f"{link.parent}: this disk has no symbolic links ({error.strerror}), and results are "
            "links into the store. Keep both on another disk: by `results` and `store` in the "
            "settings, or by --to of `clipaudit audit`."
        ) from error
    os.replace(spare, link)


def flush(path: Path) -> None:
    """Flush a file's content, or a folder's names, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def left_out_reason(path: Path) -> str | None:
    """Return the reason for an omitted result from its object; None for other objects."""
    with path.open("rb") as file:
        if file.read(len(_REASON)) != _REASON:
            return None
        return file.read().decode()
