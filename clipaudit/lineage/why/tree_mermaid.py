"""The answer of `why` as a Mermaid flow chart, which GitHub and many editors draw."""

from collections.abc import Iterator

from clipaudit.lineage.why.tree_text import SHOWN_DIGITS, more_words
from clipaudit.plaindata import Json
from clipaudit.plaintext import plain

_LONGEST = 80  # characters of a line in a box
_SPECIAL = str.maketrans({character: f"#{ord(character)};" for character in '"#&<>`\\[]{}()|;%'})


def why_mermaid(answer: Json) -> Iterator[str]:
    """Yield the lines of a chart: user's files at the left, the table at the right.

    A box for each action and each user's file, an arrow for each file that an action read, folded
    as in the text. Whatever stands in a box is escaped: Mermaid would take it for its own.
    """
    actions, table = answer["actions"], answer["table"]
    boxes = {key: f"a{number}" for number, key in enumerate(actions)}
    files: dict[tuple[str, str], str] = {}
    yield "flowchart LR"
    for key, node in actions.items():
        labels = ", ".join(f"{name} {value}" for name, value in node["labels"].items())
        code = f"code {node['code'][:SHOWN_DIGITS]}"
        yield f"  {boxes[key]}{_box(node['step'], labels, f'action {key[:SHOWN_DIGITS]}', code)}"
    yield f"  t(({_text(table['path'], table['digest'][:SHOWN_DIGITS])}))"
    yield f"  {boxes[table['action']]} --> t"
    for edge in answer["edges"]:
        more = [more_words(edge, actions)] if edge["more"] else []
        if edge["from"]:
            start, arrow = boxes[edge["from"]], _text(edge["input"], edge["path"], *more)
        else:
            place = (edge["path"], edge["digest"])
            if place not in files:
                files[place] = f"f{len(files)}"
                shape = _text(edge["path"], edge["digest"][:SHOWN_DIGITS], *more)
                yield f"  {files[place]}[({shape})]"
            start, arrow = files[place], _text(edge["input"])
        yield f"  {start} -->|{arrow}| {boxes[edge['to']]}"


def _box(*lines: str) -> str:
    return f"[{_text(*lines)}]"


def _text(*lines: str) -> str:
    """Return lines as one quoted text of a chart; empty ones are left out."""
    shown = [line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..." for line in lines]
    return '"' + "<br/>".join(plain(line).translate(_SPECIAL) for line in shown if line) + '"'
