"""docs/architecture.md lists every module with the first paragraph of its docstring."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs/architecture.md"


def module_lines():
    for path in sorted((ROOT / "clipaudit").rglob("*.py")):
        if path.name != "__init__.py":
            docstring = ast.get_docstring(ast.parse(path.read_text()))
            paragraph = " ".join(docstring.split("\n\n")[0].split())
            yield f"- `{path.relative_to(ROOT)}`: {paragraph}"


def test_every_module_has_a_line():
    written = set(DOCUMENT.read_text().splitlines())

    missing = [line for line in module_lines() if line not in written]

    assert missing == [], "docs/architecture.md lacks:\n" + "\n".join(missing)


def test_every_line_names_an_existing_module():
    named = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("- `clipaudit/")]

    assert sorted(named) == sorted(module_lines())


def test_every_rule_has_a_script_of_its_name_or_names_one():
    rules = set()
    for path in (ROOT / "rules").glob("*.smk"):
        for block in re.split(r"^ *(?=rule |use rule )", path.read_text(), flags=re.MULTILINE)[1:]:
            other = re.search(r'^ +script="(\w+)"', block, flags=re.MULTILINE)
            own = re.match(r"rule (\w+):", block)
            rules |= {found[1] for found in (other or own,) if found}

    assert rules == {path.stem for path in (ROOT / "workflow_scripts").glob("*.py")}
