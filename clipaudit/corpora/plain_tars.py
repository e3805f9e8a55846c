"""Writes tars with plain headers: equal members give equal bytes, for any user at any time."""

import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def plain_tar(path: Path) -> Iterator[Callable[[str, bytes], None]]:
    """Open a new tar with plain headers; yield a function that adds a member's name and content."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:

        def add(name: str, content: bytes) -> None:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))

        yield add
