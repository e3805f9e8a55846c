import pytest

from clipaudit.config.loading import parse_settings
from clipaudit.errors import InputError
from clipaudit.similarity.scoring import score_near_duplicates


def test_a_users_own_corpus_has_no_truth():
    run = parse_settings({"corpora": {"large": {"shards": "a.tar"}}})

    with pytest.raises(InputError, match="so there is no truth to score by"):
        score_near_duplicates(run)
