"""What a run plans to compute where class names are to be printed on test images."""

import pytest
from parrotworld import SETTINGS

ATTACK = """\
  attack:
    test_sets: [val]
    stated: {signs: word}
    encoders: [own, brief.random-8]
"""
SIGNS = "  signs: {of: val, where: row < 4, captions: none, labels: symbols}\n"
TABLE = "results_micro/tables/parrot_attack.json"


@pytest.fixture
def attacking(fresh):
    fresh.edit(SETTINGS, "\narchitectures:", f"{SIGNS}\narchitectures:")
    fresh.edit(SETTINGS, "  examples: 2\n", f"{ATTACK}  examples: 2\n")
    return fresh


def test_each_model_is_attacked_by_one_job_for_all_test_sets(attacking):
    output = attacking.run("--dry-run", config=SETTINGS, target=TABLE)

    counts = {line.split()[1] for line in output.splitlines() if line.startswith("attack ")}
    assert counts == {"2"}
