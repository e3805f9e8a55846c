import shutil
from types import SimpleNamespace

from clipaudit.store.disks import free_bytes


def test_a_store_that_does_not_exist_yet_has_the_free_space_of_its_disk(tmp_path, monkeypatch):
    disks = {tmp_path: SimpleNamespace(free=7)}
    monkeypatch.setattr(shutil, "disk_usage", disks.__getitem__)

    assert free_bytes(tmp_path / "not" / "there") == 7
