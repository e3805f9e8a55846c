from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.errors import ConfigError
from clipaudit.parrot.settings import Attack, Parrot, Probe

MICRO = Path(__file__).parents[2] / "config/micro_parrot.yaml"


def parsed(attack, **changes):
    settings = read_settings(MICRO)
    settings["parrot"] |= {"attack": attack, **changes}
    return parse_settings(settings)


def test_test_sets_with_printed_names_come_after_those_to_be_printed_on():
    run = parsed({"test_sets": ["val"], "stated": {}})

    assert run.section(Parrot).attack.all_test_sets == ["val"]


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        ({}, "name a labelled test set, or one under `stated`"),
        ({"test_sets": ["vla"]}, r"parrot\.attack\.test_sets.*vla.*val"),
        ({"stated": {"vla": "word"}}, r"parrot\.attack\.stated.*vla.*val"),
        ({"test_sets": ["album"]}, r"corpora\.album\.labels: a test set needs labels"),
        ({"test_sets": ["val"], "stated": {"val": "word"}}, "val is also among test_sets"),
        ({"test_sets": ["val"], "type_size": [0.3, 0.2]}, "smallest, 0.3, is above the largest"),
        ({"test_sets": ["val"], "type_size": [0, 0.2]}, "greater than 0"),
        ({"test_sets": ["val"], "encoders": ["brief.random-9"]}, r"attack\.encoders.*random-8"),
    ],
)
def test_an_impossible_attack_is_refused(attack, message):
    with pytest.raises(ConfigError, match=f"(?s){message}"):
        parsed(attack)


def test_an_attack_needs_the_encoder_of_the_audit():
    changes = dict.fromkeys(["encoder", "curations", "evidence", "deduplication"])

    with pytest.raises(ConfigError, match="attack needs the scores of an encoder"):
        parsed({"test_sets": ["val"]}, **changes, retrieval=[], test_sets=[])


@pytest.mark.parametrize("section", [Attack, Probe])
def test_the_size_of_letters_is_said_to_shrink(section):
    described = section.model_fields["type_size"].description

    assert described is not None
    assert "smaller if a text does not fit" in described
