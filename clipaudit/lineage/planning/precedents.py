"""Precedents: recorded actions that a job may turn out to be whose inputs are not all known yet.

Such a job can only be cut off by an action of its own step, code, settings and environment that
read what is known of its inputs. Where none is recorded, it is sure to compute.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from clipaudit.store.actions import ActionInput, Ingredients

Fact = tuple[object, ...]


class Precedents:
    """Ingredients of recorded actions, to be asked for those that agree with partial ones."""

    def __init__(self, recorded: Iterable[Ingredients]) -> None:
        """Index the ingredients of some actions, of any steps."""
        self._having: dict[tuple[str, Fact], list[int]] = {}
        self._facts: list[set[Fact]] = []
        self._alike: dict[str, list[int]] = {}
        for ingredients in recorded:
            number, frame = len(self._facts), _frame(ingredients, _shape(ingredients.inputs))
            facts = set(_facts(ingredients))
            self._facts.append(facts)
            self._alike.setdefault(frame, []).append(number)
            for fact in facts:
                self._having.setdefault((frame, fact), []).append(number)

    def agree(
        self,
        partial: Ingredients,
        inputs: Mapping[str, Sequence[ActionInput | None]],
        labels: Mapping[tuple[str, int], Mapping[str, str]],
    ) -> bool:
        """Return whether some recorded action agrees with what is known of a job.

        `inputs` are its inputs in place of `partial.inputs`, None where the content is not known;
        `labels` are what these are sure to bear, by name and position.
        """
        frame = _frame(partial, _shape(inputs))
        known = set(_known(partial.reads_labels, inputs, labels))
        lists = [self._having.get((frame, fact), []) for fact in known]
        fewest = min([self._alike.get(frame, []), *lists], key=len)
        return any(known <= self._facts[number] for number in fewest)


def _frame(ingredients: Ingredients, shape: Mapping[str, int]) -> str:
    """Return what must be equal however the inputs come out, as text."""
    return json.dumps(
        [
            ingredients.step,
            ingredients.code,
            ingredients.settings,
            ingredients.environment,
            ingredients.reads_labels,
            shape,
        ],
        sort_keys=True,
    )


def _shape(inputs: Mapping[str, Sequence[object]]) -> dict[str, int]:
    return {name: len(files) for name, files in inputs.items()}


def _facts(recorded: Ingredients) -> Iterator[Fact]:
    """Yield all that may be known of the inputs of a recorded action."""
    for name, files in recorded.inputs.items():
        for position, file in enumerate(files):
            yield _content(recorded.reads_labels, name, position, file)
            if recorded.reads_labels:
                yield from ((name, position, *pair) for pair in file.labels.items())


def _known(
    reads_labels: bool,
    inputs: Mapping[str, Sequence[ActionInput | None]],
    labels: Mapping[tuple[str, int], Mapping[str, str]],
) -> Iterator[Fact]:
    for name, files in inputs.items():
        for position, file in enumerate(files):
            if file is not None:
                yield _content(reads_labels, name, position, file)
            elif reads_labels:
                sure = labels.get((name, position), {})
                yield from ((name, position, *pair) for pair in sure.items())


def _content(reads_labels: bool, name: str, position: int, file: ActionInput) -> Fact:
    labels = frozenset(file.labels.items()) if reads_labels else frozenset()
    return name, position, file.digest, labels
