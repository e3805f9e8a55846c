"""Reasons: how a planned action differs from an earlier one.

Two sets of ingredients are compared: settings by dotted name, code by module, inputs by name and
path, environment by library. An input that another job of the same run makes is not known yet, and
None.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clipaudit.lineage.changed import changed_entries, changed_settings
from clipaudit.plaindata import Json
from clipaudit.plaintext import plain
from clipaudit.store.actions import ActionInput, Ingredients
from clipaudit.store.code_records import CodeRecord

SHOWN_DIGITS = 12  # hex digits of a digest in messages
_LONGEST_VALUE = 60  # characters of a setting's value; the rest is in the settings


@dataclass(frozen=True)
class Reason:
    """One cause as text: `what` is the same for all jobs with this cause, `detail` differs.

    >>> str(Reason("setting", "recipe.epochs 10 -> 12"))
    'recipe.epochs 10 -> 12'
    """

    kind: str  # setting, code, input, environment, object, job
    what: str
    detail: str = ""

    def __str__(self) -> str:
        """Return both as one line of text."""
        return f"{self.what}: {self.detail}" if self.detail else self.what


def changes(
    now: Ingredients,
    unknown: Mapping[str, Mapping[str, str]],
    before: Ingredients,
    *,
    code_now: Mapping[str, str],
    code_before: CodeRecord | None,
) -> list[Reason]:
    """Return how `now` differs from `before`: settings, code, environment, inputs.

    `unknown` has, by input name, the paths whose content is unknown before the run, with the rules
    that make them; `now.inputs` does not list them. `code_now` are the parts of the current code
    digest. `code_before` is None if the old digest was not recorded; a code change then has no
    module names. Equal ingredients without unknown inputs give no reason.
    """
    return [
        *_settings(before.settings, now.settings),
        *_code(before.code, now.code, code_before, code_now),
        *_environment(before.environment, now.environment),
        *_inputs(before.inputs, now.inputs, unknown),
    ]


# --- settings and environment ------------------------------------------------------------------


def _settings(before: Json, now: Json) -> Iterator[Reason]:
    for name, was, is_now in changed_settings(before, now):
        if was is None:
            change = f"added: {_short(is_now)}"
        elif is_now is None:
            change = f"removed: {_short(was)}"
        else:
            change = f"{_short(was)} -> {_short(is_now)}"
        yield Reason("setting", f"{plain(name)} {change}")


def _environment(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Reason]:
    for name, was, is_now in changed_entries(before, now):
        change = f"{plain(was or 'none')} -> {plain(is_now or 'none')}"
        yield Reason("environment", f"{plain(name)} {change}")


def _short(value: object) -> str:
    text = plain(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


# --- code --------------------------------------------------------------------------------------


def _code(
    before: str, now: str, recorded: CodeRecord | None, parts: Mapping[str, str]
) -> Iterator[Reason]:
    if before == now:
        return
    digests = f"code digest {before[:SHOWN_DIGITS]} -> {now[:SHOWN_DIGITS]}"
    if recorded is None:
        yield Reason("code", "code changed", f"{digests}, the old one not recorded by module")
        return
    for name, was, is_now in changed_entries(recorded.parts, parts):
        verb = "added" if was is None else "removed" if is_now is None else "changed"
        yield Reason("code", f"{plain(name)} {verb}")


# --- inputs ------------------------------------------------------------------------------------


def _inputs(
    before: Mapping[str, Sequence[ActionInput]],
    now: Mapping[str, Sequence[ActionInput]],
    unknown: Mapping[str, Mapping[str, str]],
) -> Iterator[Reason]:
    for name in sorted({*before, *now, *unknown}):
        waiting = unknown.get(name, {})
        yield from _files(name, before.get(name, ()), now.get(name, ()), set(waiting))
        for rule in sorted(set(waiting.values())):
            made = [path for path in waiting if waiting[path] == rule]
            how = f"is made again by {plain(rule)}" if rule else "is remote and was never read"
            yield Reason("input", f"input {plain(name)} {how}", _some(made))


def _files(
    name: str, before: Sequence[ActionInput], now: Sequence[ActionInput], waiting: set[str]
) -> Iterator[Reason]:
    if [_content(file) for file in before] == [_content(file) for file in now] and not waiting:
        return
    old, new = {file.path: file for file in before}, {file.path: file for file in now}
    if old and new and not {*old} & {*new}:  # another results folder: paths cannot be compared
        yield Reason("input", f"input {name} changed", f"{len(before)} -> {len(now)} files")
        return
    changed = [path for path in new if path in old and old[path].digest != new[path].digest]
    if changed:
        first = changed[0]
        digests = f"{old[first].digest[:SHOWN_DIGITS]} -> {new[first].digest[:SHOWN_DIGITS]}"
        yield Reason("input", f"input {name} changed", f"{_some(changed)}, {digests}")
    added = [path for path in new if path not in old]
    if added:
        yield Reason("input", f"input {name} added", _some(added))
    removed = [path for path in old if path not in new and path not in waiting]
    if removed:
        yield Reason("input", f"input {name} removed", _some(removed))
    called = [path for path in new if path in old and old[path].labels != new[path].labels]
    if called:
        yield Reason("input", f"input {name} has different labels", _some(called))


def _content(file: ActionInput) -> tuple[str, dict[str, str]]:
    return file.digest, dict(file.labels)


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{plain(paths[0])}{more}"
