import threading
import time
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.ahead import one_ahead
from clipaudit.errors import StoreError

PATIENCE = 10  # seconds to wait for a thread that acts immediately


@given(st.lists(st.integers()))
def test_items_keep_their_order(items):
    assert list(one_ahead(iter(items))) == items


def test_the_next_item_is_made_while_the_current_one_is_used():
    made = [threading.Event() for _ in range(3)]

    def items():
        for number, event in enumerate(made):
            event.set()
            yield number

    ahead = one_ahead(items())

    assert next(ahead) == 0
    assert made[1].wait(PATIENCE)


def test_only_one_item_is_prepared_in_advance():
    made = [threading.Event() for _ in range(9)]

    def items():
        for number, event in enumerate(made):
            event.set()
            yield number

    for number in one_ahead(items()):
        assert number == 8 or made[number + 1].wait(PATIENCE)
        time.sleep(0.005)  # time in which more items would be made
        assert sum(event.is_set() for event in made) == min(number + 2, 9)


def test_an_error_is_raised_in_place_of_its_item():
    def items():
        yield from (0, 1)
        raise StoreError("the third batch is cut")

    found = []
    with pytest.raises(StoreError, match="the third batch is cut"):
        found.extend(one_ahead(items()))

    assert found == [0, 1]


def test_an_early_end_leaves_no_thread_or_open_iterator():
    closed = []

    def items():
        try:
            yield from range(9)
        finally:
            closed.append(True)

    for number in one_ahead(items()):
        if number == 3:
            break

    assert closed == [True]
    assert not [each for each in threading.enumerate() if each.name.startswith("one_ahead")]


def test_an_early_end_waits_for_the_item_being_made():
    begun, finished = threading.Event(), []

    def items():
        yield 0
        begun.set()
        time.sleep(0.05)
        finished.append(True)
        yield 1

    ahead = one_ahead(items())
    next(ahead)
    begun.wait(PATIENCE)
    ahead.close()

    assert finished == [True]


def test_no_item_is_made_before_the_first_request():
    made = []
    ahead = one_ahead(made.append(number) for number in range(2))

    ahead.close()

    assert made == []


def test_items_released_by_the_caller_are_freed():
    class Batch:
        pass

    ahead = one_ahead(Batch() for _ in range(5))
    for _ in range(5):
        held = weakref.ref(next(ahead))
        assert held() is None
