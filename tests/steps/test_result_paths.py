"""The paths that readers ask for are those that rules make."""

import inspect
import re
from pathlib import Path

import pytest

from clipaudit.steps import paths

ROOT = Path(__file__).parents[2]
ASKED = [
    (name, function)
    for name, function in inspect.getmembers(paths, inspect.isfunction)
    if name != "of_part"
]


def outputs():
    """The outputs that rules state, with an asterisk for every wildcard."""
    for rules in sorted((ROOT / "rules").glob("*.smk")):
        for path in re.findall(r'f"\{RESULTS\}/([^"]+\.json)"', rules.read_text()):
            yield re.sub(r"\{\{?\w+\}\}?", "*", path)


@pytest.mark.parametrize(("name", "function"), ASKED)
def test_a_rule_makes_what_is_asked_for(name, function):
    parameters = inspect.signature(function).parameters.values()
    asked = function(*[7 if each.annotation is int else "*" for each in parameters])

    assert asked.replace("7", "*") in {*outputs(), *made_by_functions()}


def made_by_functions():
    """The outputs of rules that have one for each of several names."""
    return {"predictions/*/*/*.json", "probes/*/*/*.json"}
