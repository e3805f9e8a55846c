"""New tars with plain headers: equal members are equal bytes, whoever writes them and when."""

import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def plain_tar(path: Path) -> Iterator[Callable[[str, bytes], None]]:
    """Give a function that adds a member, by name and content, to a new tar with plain headers."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:

        def add(name: str, content: bytes) -> None:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))

        yield add
