"""The paths that readers request are those that rules make."""

import re
from pathlib import Path

import pytest

from clipaudit.steps import paths

ROOT = Path(__file__).parents[2]
ASKED = {name: each for name, each in vars(paths).items() if isinstance(each, paths.Pointers)}
del ASKED["of_part"]


def outputs():
    """Yield the outputs that rules state, with an asterisk for every wildcard."""
    for rules in sorted((ROOT / "rules").glob("*.smk")):
        for path in re.findall(r'f"\{RESULTS\}/([^"]+\.json)"', rules.read_text()):
            yield re.sub(r"\{\{?\w+\}\}?", "*", path)


@pytest.mark.parametrize("name", ASKED)
def test_a_rule_makes_every_requested_path(name):
    asked = ASKED[name](*["*" for _ in ASKED[name].names])

    assert asked in {*outputs(), *made_by_functions()}


def test_a_pattern_takes_exactly_as_many_names_as_it_has():
    with pytest.raises(ValueError, match="shorter"):
        paths.manifest("small", "all")
    with pytest.raises(ValueError, match="longer"):
        paths.model("recipe", "manifest", 7)


def made_by_functions():
    """Return the outputs of rules that have one output for each of several names."""
    return {"attacked/*/*.json", "predictions/*/*/*.json", "probes/*/*/*.json"}
