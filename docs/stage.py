"""Lay out the site's pages: README, docs/ and the pages at the top, in one folder.

    python docs/stage.py FOLDER

writes FOLDER/zensical.toml and FOLDER/pages/. Zensical reads pages of one folder only, so links to
other pages are changed, and a file that a page names is copied to pages/files/.
"""

import os
import re
import shutil
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "RELEASING.md": "releasing.md",
    "SECURITY.md": "reporting.md",
    "config/README.md": "settings_files.md",
}
LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[#)])")
NAMED_BLOCK = re.compile(r"^```(\w+) ([\w.]+)$", re.MULTILINE)


def pages(top: Path = TOP) -> dict[str, str]:
    """Return the path of each page in the site, by its path in the project."""
    below = sorted((top / "docs").rglob("*.md"))
    notebooks = sorted((top / "docs/notebooks").glob("*.py"))
    own = [path.relative_to(top / "docs") for path in [*below, *notebooks]]
    return ELSEWHERE | {f"docs/{path}": str(path.with_suffix(".md")) for path in own}


def notebook_page(text: str) -> str:
    """Return a notebook in jupytext's percent form as a page of text and code blocks."""
    shown = []
    for cell in re.split(r"^# %%", text, flags=re.MULTILINE)[1:]:
        kind, _, content = cell.partition("\n")
        if "[markdown]" in kind:
            shown.append(re.sub(r"^# ?", "", content.strip(), flags=re.MULTILINE))
        else:
            shown.append(f"```python\n{content.strip()}\n```")
    return "\n\n".join(shown) + "\n"


def deepened(text: str) -> str:
    """Return a page with the content of list items indented by four, as the builder requires.

    The pages indent it by the width of the item's mark, as in CommonMark.
    """
    lines, more, fenced = [], 0, False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        mark = None if fenced else re.match(r"([-*]|\d+\.) +", line)
        if mark:
            more = 4 - len(mark[0])
        elif line and not line.startswith(" "):
            more = 0
        inside = line.startswith(" ") and not fenced
        lines.append(" " * more + line if inside else line)
    return "\n".join(lines) + "\n"


def staged(name: str, known: dict[str, str], folder: Path) -> str:
    """Return a page's text with the links of the site; copy the files that it names."""
    here = (TOP / name).parent
    text = (TOP / name).read_text()

    def moved(link: re.Match[str]) -> str:
        path = (here / link[1]).resolve()
        if path.is_dir():
            path = min(path.glob("*.md"), default=path)
        if not path.is_file() or not path.is_relative_to(TOP):
            return link[1]
        source = str(path.relative_to(TOP))
        target = known.get(source) or source.removeprefix("docs/")
        if source not in known:
            if not source.startswith("docs/"):
                target = f"files/{source}"
            (folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / target)
        return os.path.relpath(target, Path(known[name]).parent)

    if name.endswith(".py"):
        text = notebook_page(text)
    return NAMED_BLOCK.sub(r'```\1 title="\2"', deepened(LINK.sub(moved, text)))


def main(folder: Path) -> None:
    """Write the settings of the site and all its pages anew."""
    for made in ("pages", "html"):  # html is the builder's
        shutil.rmtree(folder / made, ignore_errors=True)
    known = pages()
    for name, target in known.items():
        to = folder / "pages" / target
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(staged(name, known, folder / "pages"))
    commands = sorted(page for page in known.values() if page.startswith("commands/"))
    listed = ", ".join(f'{{ "{Path(page).stem}" = "{page}" }}' for page in commands)
    site = (TOP / "docs/zensical.toml").read_text()
    (folder / "zensical.toml").write_text(site.replace('"commands/*.md"', f"[{listed}]"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
