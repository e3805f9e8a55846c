"""Read the command lines in README and docs as lists of words."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "config/README.md"])
BLOCK = re.compile(r"^```(?:console|sh|bash)?\n(.*?)^```$|((?:^    .*\n?)+)", re.M | re.S)
START = re.compile(r"^\s*(?:\$ )?(?=(?:clipaudit|make|snakemake|python) )")
INLINE = re.compile(r"`((?:clipaudit|make|snakemake) [^`\n]+)`")
ENDS = {"|", ";", "&&", ">", "#"}


class Shown(NamedTuple):
    page: str
    words: tuple[str, ...]
    whole: bool  # a line of a block; words in a sentence may leave arguments out


def shown_commands():
    """Yield every command line in blocks of all pages, and every command between backticks."""
    for page in PAGES:
        name, text = str(page.relative_to(ROOT)), page.read_text()
        for fenced, indented in BLOCK.findall(text):
            lines = iter((fenced or indented).splitlines())
            for line in lines:
                if START.match(line):
                    yield Shown(name, words(START.sub("", line), lines), True)
        for inline in INLINE.findall(re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)):
            yield Shown(name, words(inline, iter(())), False)


def words(line, following):
    """Return the words of the first command of a line, joined with its continuation lines."""
    while line.endswith("\\") or line.count('"') % 2 or (line.count("'") % 2 and '"' not in line):
        further = next(following, None)
        if further is None:
            break
        line = line.removesuffix("\\") + " " + further.strip()
    found = shlex.split(line, comments=True)
    end = next((at for at, word in enumerate(found) if word in ENDS), len(found))
    return tuple(word.rstrip(";") for word in found[:end])
