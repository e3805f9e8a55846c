import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from clipaudit.catalog.lockable import lockable, written_elsewhere
from clipaudit.errors import StoreError

SOURCE = Path(__file__).with_name("nolocks.c")
WRITE_AND_READ = """
from pathlib import Path
from clipaudit.catalog.views import open_catalog, write_catalog
write_catalog([], {}, Path("results/audit.duckdb"))
with open_catalog("results") as opened:
    print(opened.execute("select count(*) from files").fetchall())
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_a_catalog_is_written_and_read_on_a_disk_that_cannot_lock(tmp_path):
    disk, library = tmp_path / "disk", tmp_path / "nolocks.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    (disk / "results").mkdir(parents=True)
    without = {"LD_PRELOAD": str(library), "NO_LOCKS": str(disk), "PYTHONPATH": os.getcwd()}

    def run(code):
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, env=os.environ | without, cwd=disk, capture_output=True, text=True
        )

    assert run(WRITE_AND_READ).stdout == "[(0,)]\n"
    direct = run("import duckdb; duckdb.connect('results/audit.duckdb', read_only=True)")
    assert "Could not set lock on file" in direct.stderr


def test_a_file_that_can_be_locked_is_read_in_place(tmp_path):
    catalog = tmp_path / "audit.duckdb"
    duckdb.connect(str(catalog)).close()

    with lockable(catalog) as path:
        assert path == catalog


def test_a_file_that_another_program_writes_is_left_to_duckdb(tmp_path):
    catalog = tmp_path / "audit.duckdb"
    duckdb.connect(str(catalog)).close()
    hold = "import duckdb; held = duckdb.connect('audit.duckdb'); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        with lockable(catalog) as path:
            assert path == catalog
        other.communicate(b"\n")


def test_without_any_disk_that_can_lock_the_next_step_is_said(monkeypatch):
    def refuse(file, how):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "lockf", refuse)

    with pytest.raises(StoreError, match=r"cannot be locked there.* Set TMPDIR to a folder"):
        written_elsewhere().__enter__()
