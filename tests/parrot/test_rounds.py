import time

import pytest

from clipaudit.parrot.rounds import Rounds


def test_questions_of_a_round_are_answered_together_in_the_order_of_the_calls():
    rounds = []

    def answer(questions):
        rounds.append(list(questions))
        return [question * 10 for question in questions]

    def call(number):
        def compute(ask):
            time.sleep(0.02 * (3 - number))  # the last is the first to ask
            first = ask(number)
            return first if number == 1 else ask(first + number)

        return compute

    assert Rounds(answer).run([call(number) for number in range(3)]) == [0, 10, 220]
    assert rounds == [[0, 1, 2], [0, 22]]


def test_a_call_that_fails_stops_no_other():
    def failing(ask):
        raise ValueError("mine")

    found = Rounds(lambda questions: questions).run([failing, lambda ask: ask(1)])

    assert isinstance(found[0], ValueError)
    assert found[1] == 1


def test_a_failed_answer_is_raised_in_each_call_that_asked():
    def broken(questions):
        raise MemoryError("full")

    found = Rounds(broken).run([lambda ask: ask(1), lambda ask: 2])

    assert isinstance(found[0], MemoryError)
    assert found[1] == 2


@pytest.mark.parametrize("calls", [[], [lambda ask: 3]])
def test_calls_that_ask_nothing_need_no_answer(calls):
    def never(questions):
        raise AssertionError(questions)

    assert Rounds(never).run(calls) == [3] * len(calls)
