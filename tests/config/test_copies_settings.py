import pytest

from clipaudit.config.loading import parse_settings
from clipaudit.errors import ConfigError

LEAST = {
    "corpora": {
        "web": {"shards": "web/{0..3}.tar"},
        "val": {"shards": "val/0.tar"},
        "part": {"of": "web", "where": "row < 9"},
    },
    "copies": {"train": "web", "test_sets": ["val"]},
}


def parsed(**copies):
    return parse_settings({**LEAST, "copies": {**LEAST["copies"], **copies}})


def test_a_train_set_and_a_test_set_are_enough():
    manifests = parse_settings(LEAST).manifests()

    assert manifests["web-without-copies"] == {"web": "without-copies"}
    assert manifests["web-without-repeats"] == {"web": "without-repeats"}


def test_a_sampled_search_makes_no_manifests():
    assert not [name for name in parsed(sample=100).manifests() if "without" in name]


@pytest.mark.parametrize(
    ("copies", "message"),
    [
        ({"train": "wbe"}, r"copies\.train: 'wbe' is not among corpora"),
        ({"test_sets": ["vla"]}, r"copies\.test_sets: 'vla' is not among corpora"),
        ({"test_sets": ["val", "val"]}, r"copies\.test_sets: val, val; name each once"),
        ({"encoders": ["own"]}, r"copies\.encoders: 'own' is not among encoders"),
        ({"similarity": {"own": 0.9}}, r"copies\.similarity: own is not among copies\.encoders"),
        ({"test_sets": [], "repeats": False}, "nothing to search for; name a test set"),
        ({"distance": 300}, r"copies\.distance"),
        ({"test_sets": ["web"]}, "images of web are images of `train`, web, so each would be its"),
        ({"test_sets": ["part"]}, "images of part are images of `train`, web"),
        ({"train": "part", "test_sets": ["web"]}, "images of web are images of `train`, part"),
    ],
)
def test_impossible_settings_are_refused(copies, message):
    with pytest.raises(ConfigError, match=message):
        parsed(**copies)
