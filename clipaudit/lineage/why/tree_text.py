"""Format the answer of `why` as text: the cells, the rows used, and the tree of actions."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from clipaudit.plaindata import Json
from clipaudit.plaintext import plain

SHOWN_DIGITS = 12  # hex digits of a printed digest
_FEW_ROWS = 3  # of the table
_FEW_FILES = 2  # of one input of an action


@dataclass(frozen=True)
class Shown:
    """How much of an answer to print: by default what fits on one screen."""

    sql: bool = False
    settings: bool = False  # those of each action, with its environment
    depth: int | None = 2  # levels of actions; None: all
    every: bool = False  # all rows and files in the answer, not only the first ones
    options: str = ""  # of a shown command: those that name the folders of this run


def why_text(answer: Json, width: int, shown: Shown = Shown()) -> Iterator[str]:
    """Yield the lines of an answer; lines of rows and settings are cut at `width` columns.

    Characters from data that would control a terminal are escaped.
    """
    tree = _Tree(answer, width, shown)
    sections = [
        _rows(answer, width, shown),
        [*_parts(answer, width), *map(plain, answer["notes"])],
        tree.lines(),
        _sql(answer) if shown.sql else [],
        _more(answer, shown, tree.levels()),
    ]
    told = [lines for section in sections if (lines := list(section))]
    for number, lines in enumerate(told):
        yield from [""] * (number > 0)
        yield from lines


def _sql(answer: Json) -> Iterator[str]:
    if answer["sql"]:
        yield f"{answer['sql']['name']}.sql ({answer['sql']['origin']}):"
        yield from (f"  {plain(line)}".rstrip() for line in answer["sql"]["text"].splitlines())


def _rows(answer: Json, width: int, shown: Shown) -> Iterator[str]:
    column, few = answer["column"], answer["rows"] if shown.every else answer["rows"][:_FEW_ROWS]
    for row in few:
        if column is not None:
            yield f"{plain(column)} = {_exact(row[column])}{_bounds(row, column)}"
            meaning = row.get("definition") or answer["meaning"]
            if meaning:
                yield f"  {plain(meaning)}"
        cells = "  ".join(f"{name}={_value(row[name])}" for name in row if row[name] is not None)
        yield plain(cells) if shown.every else _cut(cells, 2 * width)
    more = (answer["count"] or 0) - len(few)
    if more:
        yield f"... and {more:,} more rows: choose some with --where"


def _bounds(row: Json, column: str) -> str:
    """Return a column's confidence interval and unit in a row; "" if there is neither."""
    low, high, unit = (row.get(name) for name in (f"{column}_low", f"{column}_high", "unit"))
    bounds = "" if low is None or high is None else f" [{_value(low)}, {_value(high)}]"
    return bounds if unit is None else f"{bounds} ({plain(unit)})"


def _more(answer: Json, shown: Shown, levels: int) -> Iterator[str]:
    """Yield a line with the options that show more."""
    options = []
    if any((part["rows"] or 0) > len(part["sample"]) for part in (answer["parts"] or {}).values()):
        most = max(part["rows"] or 0 for part in answer["parts"].values())
        options.append(f"--rows {most} (all rows used)")
    if answer["sql"] and not shown.sql:
        options.append("--sql")
    if shown.depth is not None and levels > shown.depth:
        options.append(f"--depth {levels} (down to the shards)")
    if not shown.settings:
        options.append("--settings")
    if not shown.every:
        options.append("--all")
    if options:
        yield f"More: {', '.join(options)}"
    yield from _sample_command(answer, shown.options)


def _sample_command(answer: Json, options: str) -> Iterator[str]:
    """Yield the command that shows one of the rows used, if rows are samples."""
    for part in (answer["parts"] or {}).values():
        for row in part["sample"][:1]:
            if {"corpus", "shard", "row"} <= row.keys() and "." not in row["corpus"]:
                sample = f"{row['corpus']} {row['shard']}:{row['row']}"
                yield f"Show the first: clipaudit sample {plain(sample)}{plain(options)}"
                return


def _parts(answer: Json, width: int) -> Iterator[str]:
    parts = answer["parts"]
    if not parts:
        return
    yield "Recomputing from these rows alone gives the same:"
    for view, part in parts.items():
        if not part["rows"] and part["rows"] is not None:
            continue
        yield f"  {plain(view)}: {_of(part, 'rows')}, {_of(part, 'files')}"
        yield from (f"    {_cut(words, width - 4)}" for words in part["by"])
        for row in part["sample"]:
            cells = "  ".join(f"{name}={_value(value)}" for name, value in row.items())
            yield f"    {_cut(cells, width - 4)}"
        more = (part["rows"] or 0) - len(part["sample"])
        if part["sample"] and more > 0:
            yield f"    ... and {more:,} more"
    unused = [plain(view) for view, part in parts.items() if part["rows"] == 0]
    if unused:
        yield f"  no row of: {', '.join(unused)}"


def _of(part: Json, what: str) -> str:
    """Return `3 of 40 files`, or `3 files` if the total was not counted."""
    some, whole = part[what], part[f"of_{what}"]
    if some is None:
        return f"{what} not counted"
    return f"{some:,} of {whole:,} {what}" if whole is not None else f"{some:,} {what}"


class _Tree:
    """The lines of the tree, with each action in full once."""

    def __init__(self, answer: Json, width: int, shown: Shown) -> None:
        self._answer, self._width, self._shown = answer, width, shown
        self._told: set[str] = set()
        self._first: dict[tuple[str, str], tuple[str, list[str]]] = {}  # by step and code
        self._edges: dict[tuple[str, str], list[Json]] = {}
        for edge in answer["edges"]:
            self._edges.setdefault((edge["to"], edge["input"]), []).append(edge)

    def lines(self) -> Iterator[str]:
        table = self._answer["table"]
        yield from self._file(table["path"], table["digest"], table["action"], 0)

    def levels(self) -> int:
        """Return the number of levels of actions in the tree, including the table's own."""
        level, count = {self._answer["table"]["action"]}, 0
        below: dict[str, set[str]] = {}
        for edge in self._answer["edges"]:
            if edge["from"]:
                below.setdefault(edge["to"], set()).add(edge["from"])
        met = set(level)
        while level:
            level = {each for key in level for each in below.get(key, ())} - met
            met |= level
            count += 1
        return count

    def _file(self, path: str, digest: str, action: str | None, depth: int) -> Iterator[str]:
        again = "  (see above)" if action in self._told else ""
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
        facts = self._facts(key) if self._shown.settings else self._modules(node["code"])
        yield from (f"{indent}| {_cut(fact, self._width - len(indent) - 2)}" for fact in facts)
        inputs = {name: files for name, files in node["inputs"].items() if files["of_files"]}
        told = {name: f"{plain(name)}: {_of_files(files)}" for name, files in inputs.items()}
        if self._shown.depth is not None and depth + 1 >= self._shown.depth and depth:
            yield from [_cut(f"{indent}| {', '.join(told.values())}", self._width)] * bool(told)
            return
        for name, words in told.items():
            yield f"{indent}| {words}"
            edges = self._edges.get((key, name), [])
            few = edges if self._shown.every else edges[:_FEW_FILES]
            for edge in few:
                yield from self._edge(edge, depth + 1)
            if len(edges) > len(few):
                yield f"{indent}  ... and {len(edges) - len(few):,} like these: --all"

    def _facts(self, key: str) -> list[str]:
        """Return settings, environment and modules; for a step shown before, the differences."""
        node = self._answer["actions"][key]
        facts = [f"{name} = {_setting(value)}" for name, value in node["settings"].items()]
        facts += [f"with {name} {value}" for name, value in node["environment"].items()]
        facts += self._modules(node["code"])
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

    def _modules(self, digest: str) -> list[str]:
        covered = sorted((self._answer["code"].get(digest) or {}).items())
        return [f"of {part} {sha[:SHOWN_DIGITS]}" for part, sha in covered]


def _of_files(files: Json) -> str:
    return f"{files['files']} of {files['of_files']} files"


def more_words(edge: Json, actions: Json) -> str:
    """Return the description of a folded edge: `and 3 more of index, to .../00003.json`."""
    made = f" of {plain(actions[edge['from']]['step'])}" if edge["from"] else ""
    return f"and {edge['more']['files']:,} more{made}, to {plain(edge['more']['last'])}"


def _name(fact: str) -> str:
    """Return the subject of a fact: the setting before the sign, the library before its version."""
    return fact.partition(" = ")[0] if " = " in fact else fact.rpartition(" ")[0]


def _setting(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else plain(value)


def _exact(value: object) -> str:
    return repr(value) if isinstance(value, float) else plain(value)


def _cut(text: object, width: int) -> str:
    """Return a text as one harmless line, cut at `width` characters (at least 40)."""
    line, width = plain(text), max(width, 40)
    return line if len(line) <= width else f"{line[: width - 3]}..."


def _by(node: Json) -> str:
    return f" by {plain(node['owner'])}" if node["owner"] else ""


# --- as Mermaid -----------------------------------------------------------------------------------

_LONGEST = 80  # characters of a line in a box
_SPECIAL = str.maketrans({character: f"#{ord(character)};" for character in '"#&<>`\\[]{}()|;%'})


def why_mermaid(answer: Json) -> Iterator[str]:
    """Yield the lines of a chart: the user's files on the left, the table on the right.

    Each action and each user's file is a box, each file that an action read an arrow, folded as in
    the text. The text in boxes is escaped: Mermaid would interpret it.
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
    """Return lines as one quoted text of a chart, without empty ones."""
    shown = [line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..." for line in lines]
    return '"' + "<br/>".join(plain(line).translate(_SPECIAL) for line in shown if line) + '"'
