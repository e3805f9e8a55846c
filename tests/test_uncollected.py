import gc

import pytest

from clipaudit.uncollected import uncollected


@uncollected()
def collects():
    return gc.isenabled()


def test_collection_is_off_within_a_decorated_function_and_on_after_it():
    assert not collects()
    assert gc.isenabled()


def test_collection_is_on_again_after_an_error():
    with pytest.raises(KeyError), uncollected():
        raise KeyError
    assert gc.isenabled()


def test_collection_stays_off_if_it_was():
    with uncollected():
        assert not collects()
        assert not gc.isenabled()
