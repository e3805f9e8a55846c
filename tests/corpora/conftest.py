import pytest
from shardzoo import tar_bytes


@pytest.fixture
def shard(tmp_path):
    """Return a function that writes members, or raw bytes, as a shard."""

    def write(content, name="00000.tar", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else tar_bytes(content, **options))
        return path

    return write
