"""Pages that show commands and their output, run as written in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
SHIM = f"""#!{sys.executable}
from clipaudit.cli import main
main()
"""


def run_page(name, folder):
    """Save the page's files into `folder`, run its commands there, and compare their output."""
    printed = shell(folder)
    for kind, file, text in BLOCK.findall((ROOT / name).read_text()):
        if file:
            (folder / file).write_text(text)
        elif kind == "console":
            for command, shown in COMMAND.findall(text):
                found = without_times(printed(command))
                assert re.fullmatch(as_pattern(shown), found), f"$ {command}\n{found}"


def shell(folder):
    """Return a function: the output of a command line in the folder, with this `clipaudit`."""
    programs = folder / ".bin"
    programs.mkdir()
    (programs / "clipaudit").write_text(SHIM)
    (programs / "clipaudit").chmod(0o755)
    path = os.pathsep.join(map(str, [programs, Path(sys.executable).parent, os.environ["PATH"]]))
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}

    def printed(command):
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
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
    """Return a page's text as a pattern for the output: `...` stands for any lines."""
    lines = without_times(shown).splitlines(keepends=True)
    return "".join("(?s:.*)" if line == "...\n" else re.escape(line) for line in lines)
