"""Answer many threads together: when each of them asks or has ended, all questions are answered."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")
R = TypeVar("R")


class Rounds(Generic[Q, A]):
    """Runs calls in threads of their own and answers their questions in rounds.

    A round begins when no call computes, so its questions depend on the calls alone, not on how
    fast they run.
    """

    def __init__(self, answer: Callable[[Sequence[Q]], Sequence[A]]) -> None:
        """`answer` gets the questions of a round in the order of the calls, and runs alone."""
        self._answer = answer
        self._changed = Condition()
        self._computing = 0
        self._asked: dict[int, tuple[Q, Future[A]]] = {}

    def run(self, calls: Sequence[Callable[[Callable[[Q], A]], R]]) -> list[R | Exception]:
        """Return what each call returns or raises; a call gets a function to ask.

        What `answer` raises is raised in all calls that asked.
        """
        results: dict[int, R | Exception] = {}

        def work(at: int) -> None:
            try:
                results[at] = calls[at](lambda question: self._ask(at, question))
            except Exception as error:
                results[at] = error
            finally:
                self._pause()

        self._computing = len(calls)
        threads = [Thread(target=work, args=(at,), daemon=True) for at in range(len(calls))]
        for thread in threads:
            thread.start()
        while questions := self._round():
            self._reply(questions)
        for thread in threads:
            thread.join()
        return [results[at] for at in range(len(calls))]

    def _ask(self, at: int, question: Q) -> A:
        future: Future[A] = Future()
        self._asked[at] = (question, future)
        self._pause()
        return future.result()

    def _pause(self) -> None:
        with self._changed:
            self._computing -= 1
            self._changed.notify()

    def _round(self) -> list[tuple[Q, "Future[A]"]]:
        """Wait until no call computes; return what they ask, or nothing once all have ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._computing == 0)
            asked, self._asked = self._asked, {}
            self._computing = len(asked)
        return [asked[at] for at in sorted(asked)]

    def _reply(self, asked: Sequence[tuple[Q, "Future[A]"]]) -> None:
        try:
            answers = self._answer([question for question, _ in asked])
        except Exception as error:
            for _, future in asked:
                future.set_exception(error)
            return
        for (_, future), answer in zip(asked, answers, strict=True):
            future.set_result(answer)
