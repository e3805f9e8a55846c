import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clipaudit.neighbors.native import library
from clipaudit.neighbors.native.build import HERE, LIBRARY, READS, NotBuilt, build


def test_all_sources_are_part_of_the_digests():
    assert sorted(READS) == sorted(
        path.name for path in HERE.iterdir() if path.suffix in {".h", ".cpp"}
    )


@pytest.mark.parametrize(
    ("compiler", "message"),
    [
        ("no-such-compiler", "no C\\+\\+ compiler no-such-compiler; install g\\+\\+ or set CXX"),
        ("false", "false -std=c.* failed"),
    ],
)
def test_without_a_compiler_an_older_library_is_kept(compiler, message, monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", compiler)
    older = tmp_path / "neighbors.so"
    older.write_text("older")

    with pytest.raises(NotBuilt, match=message):
        build(older)

    assert [path.read_text() for path in tmp_path.iterdir()] == ["older"]


def test_an_unsupported_processor_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("platform.machine", lambda: "aarch64")

    with pytest.raises(NotBuilt, match="not for linux on aarch64"):
        build(tmp_path / "neighbors.so")


def test_a_file_that_is_not_a_library_is_not_opened(tmp_path, caplog):
    (tmp_path / "neighbors.so").write_text("not a library")

    assert library.find_library(tmp_path / "neighbors.so") is None
    assert "neighbors.so cannot be opened" in caplog.text


@pytest.mark.skipif(not library.kernels(), reason="the native search is not compiled here")
def test_a_library_built_from_other_sources_is_not_used(tmp_path, monkeypatch, caplog):
    shutil.copy(LIBRARY, tmp_path)
    monkeypatch.setattr(library, "sources_digest", lambda: "other")

    assert library.find_library(tmp_path / "neighbors.so") is None
    assert "was compiled from other sources" in caplog.text


@pytest.mark.skipif(sys.platform != "linux", reason="needs a library by this name")
def test_a_library_without_our_functions_is_not_used(caplog):
    assert library.find_library(Path("libm.so.6")) is None
    assert "libm.so.6 was compiled from other sources" in caplog.text


def kernels_under(**limit):
    """Return the kernels that a process prints with only this limit."""
    program = "from clipaudit.neighbors.native.library import kernels; print(kernels())"
    unlimited = {name: text for name, text in os.environ.items() if name != "ONEDNN_MAX_CPU_ISA"}
    command = [sys.executable, "-c", program]
    return subprocess.check_output(command, env=unlimited | limit, text=True).strip()


@pytest.mark.skipif("avx2" not in library.kernels(), reason="the native search does not run here")
@pytest.mark.parametrize(("most", "kernels"), [("AVX", "()"), ("AVX2", "('avx2',)")])
def test_the_onednn_variable_also_limits_the_kernels(most, kernels):
    assert kernels_under(ONEDNN_MAX_CPU_ISA=most) == kernels


def test_the_limit_default_allows_every_kernel():
    assert kernels_under(ONEDNN_MAX_CPU_ISA="DEFAULT") == kernels_under()


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
def test_the_sources_compile_without_warnings(tmp_path):
    units = ["library.cpp", "search.cpp", "columns.cpp"]  # the others include GCC's own, which warn
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", '-DSOURCES=""', "-fsyntax-only"]

    done = subprocess.run([*command, *units], cwd=HERE, capture_output=True, text=True, check=False)

    assert done.stderr == ""
