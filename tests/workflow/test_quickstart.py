"""docs/quickstart.md, run as it is written in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/quickstart.md").read_text()
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
SHIM = f"""#!{sys.executable}
from clipaudit.cli import main
main()
"""


@pytest.fixture
def shell(tmp_path):
    """A function: what a command line prints in the test's folder, `clipaudit` being this one."""
    programs = tmp_path / ".bin"
    programs.mkdir()
    (programs / "clipaudit").write_text(SHIM)
    (programs / "clipaudit").chmod(0o755)
    path = os.pathsep.join(map(str, [programs, Path(sys.executable).parent, os.environ["PATH"]]))
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}

    def printed(command):
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout

    return printed


def without_times(text):
    return re.sub(r"\b\d+(\.\d+)? s\b", "N s", text)


def as_pattern(shown):
    """What a page shows, as a pattern of what is printed: `...` stands for any lines."""
    lines = without_times(shown).splitlines(keepends=True)
    return "".join("(?s:.*)" if line == "...\n" else re.escape(line) for line in lines)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_page_prints_what_it_shows(shell, tmp_path):
    for _, name, text in BLOCK.findall(PAGE):
        if name:
            (tmp_path / name).write_text(text)
            continue
        for command, shown in COMMAND.findall(text):
            found = without_times(shell(command))
            assert re.fullmatch(as_pattern(shown), found), f"$ {command}\n{found}"
