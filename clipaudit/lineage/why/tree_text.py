"""The answer of `why` as text: the cells, the SQL, what entered, and the tree of actions."""

import json
from collections.abc import Iterator, Sequence

from clipaudit.plaindata import Json
from clipaudit.plaintext import plain

SHOWN_DIGITS = 12  # hex digits of a digest that people read


def why_text(answer: Json, width: int, *, sql: bool = True) -> Iterator[str]:
    """Yield the lines of an answer, those of settings cut at `width` columns.

    Every character that came with data and would steer a terminal is spelt out.
    """
    sections = [
        _rows(answer),
        _sql(answer) if sql else [],
        [*_parts(answer, width), *map(plain, answer["notes"])],
        _Tree(answer, width).lines(),
    ]
    shown = [lines for section in sections if (lines := list(section))]
    for number, lines in enumerate(shown):
        yield from [""] * (number > 0)
        yield from lines


def _sql(answer: Json) -> Iterator[str]:
    if answer["sql"]:
        yield f"{answer['sql']['name']}.sql ({answer['sql']['origin']}):"
        yield from (f"  {plain(line)}".rstrip() for line in answer["sql"]["text"].splitlines())


def _rows(answer: Json) -> Iterator[str]:
    column = answer["column"]
    for row in answer["rows"]:
        if column is not None:
            yield f"{plain(column)} = {_exact(row[column])}"
        yield "  ".join(f"{plain(name)}={_value(value)}" for name, value in row.items())
    more = (answer["count"] or 0) - len(answer["rows"])
    if more:
        yield f"... and {more:,} more rows"


def _parts(answer: Json, width: int) -> Iterator[str]:
    parts = answer["parts"]
    if not parts:
        return
    yield "These rows alone, recomputed, give the same:"
    for view, part in parts.items():
        yield f"  {plain(view)}: {_of(part, 'rows')}, {_of(part, 'files')}"
        yield from (f"    {_cut(words, width - 4)}" for words in part["by"])
        for row in part["sample"]:
            cells = "  ".join(f"{name}={_value(value)}" for name, value in row.items())
            yield f"    {_cut(cells, width - 4)}"


def _of(part: Json, what: str) -> str:
    """Return `3 of 40 files`, or `3 files` where the whole was not counted."""
    some, whole = part[what], part[f"of_{what}"]
    if some is None:
        return f"{what} not counted"
    return f"{some:,} of {whole:,} {what}" if whole is not None else f"{some:,} {what}"


class _Tree:
    """The lines of the tree, each action told in full once."""

    def __init__(self, answer: Json, width: int) -> None:
        self._answer, self._width = answer, width
        self._told: set[str] = set()
        self._first: dict[tuple[str, str], tuple[str, list[str]]] = {}  # of each step and code
        self._edges: dict[tuple[str, str], list[Json]] = {}
        for edge in answer["edges"]:
            self._edges.setdefault((edge["to"], edge["input"]), []).append(edge)

    def lines(self) -> Iterator[str]:
        table = self._answer["table"]
        yield from self._file(table["path"], table["digest"], table["action"], 0)

    def _file(self, path: str, digest: str, action: str | None, depth: int) -> Iterator[str]:
        again = "  (told above)" if action in self._told else ""
        yield f"{'  ' * depth}{plain(path)}  {digest[:SHOWN_DIGITS]}{again}"
        if action and not again:
            self._told.add(action)
            yield from self._action(action, depth)

    def _action(self, key: str, depth: int) -> Iterator[str]:
        node, indent = self._answer["actions"][key], "  " * depth
        yield (
            f"{indent}| {plain(node['step'])}  action {key[:SHOWN_DIGITS]}  "
            f"code {node['code'][:SHOWN_DIGITS]}  ({node['seconds']} s on {plain(node['host'])}"
            f"{_by(node)}, "
            f"{node['started'][:19]}Z)"
        )
        facts = self._facts(key)
        yield from (f"{indent}| {_cut(fact, self._width - len(indent) - 2)}" for fact in facts)
        for name, files in node["inputs"].items():
            if not files["of_files"]:
                continue
            yield f"{indent}| {plain(name)}: {files['files']} of {files['of_files']} files"
            for edge in self._edges.get((key, name), []):
                yield from self._edge(edge, depth + 1)

    def _facts(self, key: str) -> list[str]:
        """Return settings, environment and modules; of a step told before, how they differ."""
        node = self._answer["actions"][key]
        facts = [f"{name} = {_setting(value)}" for name, value in node["settings"].items()]
        facts += [f"with {name} {value}" for name, value in node["environment"].items()]
        facts += [f"of {part} {sha[:SHOWN_DIGITS]}" for part, sha in self._code(node["code"])]
        step = node["step"], node["code"]
        if step not in self._first:
            self._first[step] = key, facts
            return facts
        other, before = self._first[step]
        added = [fact for fact in facts if fact not in before]
        names = {_name(fact) for fact in facts}
        gone = [f"no {_name(fact)}" for fact in before if _name(fact) not in names]
        if len(added) + len(gone) + 1 >= len(facts):
            return facts
        but = ", but" if added or gone else ""
        return [f"all as action {other[:SHOWN_DIGITS]}{but}", *added, *gone]

    def _edge(self, edge: Json, depth: int) -> Iterator[str]:
        yield from self._file(edge["path"], edge["digest"], edge["from"], depth)
        if edge["more"]:
            yield f"{'  ' * depth}... {more_words(edge, self._answer['actions'])}"

    def _code(self, digest: str) -> Sequence[tuple[str, str]]:
        return sorted((self._answer["code"].get(digest) or {}).items())


def more_words(edge: Json, actions: Json) -> str:
    """Return what a folded edge stands for: `and 3 more of index, to .../00003.json`."""
    made = f" of {plain(actions[edge['from']]['step'])}" if edge["from"] else ""
    return f"and {edge['more']['files']:,} more{made}, to {plain(edge['more']['last'])}"


def _name(fact: str) -> str:
    """Return what a fact is about: the setting before the sign, the library before its version."""
    return fact.partition(" = ")[0] if " = " in fact else fact.rpartition(" ")[0]


def _setting(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else plain(value)


def _exact(value: object) -> str:
    return repr(value) if isinstance(value, float) else plain(value)


def _cut(text: object, width: int) -> str:
    """Return a text as one harmless line of at most `width` characters, 40 at least."""
    line, width = plain(text), max(width, 40)
    return line if len(line) <= width else f"{line[: width - 3]}..."


def _by(node: Json) -> str:
    return f" by {plain(node['owner'])}" if node["owner"] else ""


# --- as Mermaid -----------------------------------------------------------------------------------

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
        text = _text(node["step"], labels, f"action {key[:SHOWN_DIGITS]}", code)
        yield f"  {boxes[key]}[{text}]"
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


def _text(*lines: str) -> str:
    """Return lines as one quoted text of a chart; empty ones are left out."""
    shown = [line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..." for line in lines]
    return '"' + "<br/>".join(plain(line).translate(_SPECIAL) for line in shown if line) + '"'
