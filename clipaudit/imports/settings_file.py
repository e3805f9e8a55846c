"""Adds blocks to a file of settings: written whole or not at all, every other line kept.

Writing with a YAML library loses comments, anchors and the order of lines, so the text itself is
edited. The parser's marks say where a block goes, and the new text must parse to exactly the old
content and the blocks, else nothing is written.
"""

from pathlib import Path
from typing import Any

import yaml

from clipaudit.config.loading import extended, parse_settings, read_settings
from clipaudit.config.settings import Settings
from clipaudit.errors import ConfigError
from clipaudit.imports.blocks import Blocks, block_text
from clipaudit.imports.label_sets import share_label_sets
from clipaudit.plaindata import Json
from clipaudit.plaintext import plain
from clipaudit.store.store import replace_text

# settings that say where data are: an import that states one of them replaces all
_SOURCES = {
    "corpora": ("shards", "metadata", "of", "where", "sets", "label", "world", "blurred"),
    "embeddings": ("arrays", "array"),
}
_KEPT = "shards_per_part"  # an import proposes it; the value in the file wins


def add_blocks(path: Path, blocks: Blocks, *, force: bool) -> tuple[Settings, list[str]]:
    """Add blocks to the settings of `path`, a new file if there is none.

    Return the whole settings, and lines to print: which label set is shared, which settings were
    kept, and which blocks the file has now. An equal block is left unchanged; in one that differs,
    `force` replaces what the import states and keeps the rest. Raise ConfigError, and leave the
    file unchanged, for a block that must not be replaced, for settings that would be wrong, and for
    a file whose form cannot be edited.
    """
    text, below, line_ends = "", {}, None
    if path.exists():
        below = read_settings(path)  # with what it extends
        with path.open(encoding="utf-8") as file:
            text, line_ends = file.read(), file.newlines
    _require_mappings(path, below)
    wanted = yaml.safe_load(text) or {}
    blocks, notes = share_label_sets(blocks, below, force=force)
    for section, named in blocks.items():
        for name, block in named.items():
            there = (below.get(section) or {}).get(name)
            kept = {} if there is None else _kept(section, there, block)
            merged = {**block, **kept}
            notes += [f"{section}.{name}: {', '.join(kept)} kept"] if kept else []
            if there is not None:
                if there in (merged, {key: merged[key] for key in merged if key != _KEPT}):
                    continue
                if not force:
                    raise ConfigError(
                        f"{path}: {section}.{name} exists and differs. Give another "
                        "name, or replace it by --force."
                    )
            own = wanted.get(section) or {}
            edited = _with_block(text, section, name, own.get(name), merged)
            if edited is None:
                raise _uneditable(path, {section: {name: merged}})
            text = edited
            wanted[section] = {**own, name: merged}
    if _said(text) != wanted:
        raise _uneditable(path, blocks)
    run = parse_settings(extended(wanted))
    replace_text(path.resolve(), text.replace("\n", "\r\n") if line_ends == "\r\n" else text)
    names = [f"{section}.{name}" for section, named in blocks.items() for name in named]
    return run, [*notes, f"{plain(path)}: {', '.join(names)}"]


def _require_mappings(path: Path, content: Json) -> None:
    for section in ("label_sets", "corpora", "embeddings"):
        found = content.get(section) or {}
        named = {section: found}
        if isinstance(found, dict):
            named |= {f"{section}.{name}": block for name, block in found.items()}
        for where, value in named.items():
            if not isinstance(value, dict):
                kind = type(value).__name__
                raise ConfigError(f"{path}: {where}: expected settings by name, found {kind}.")


def _kept(section: str, there: Json, block: Json) -> dict[str, Any]:
    """Return the settings of a block that an import of `block` does not change."""
    replaced = {*block, *_SOURCES.get(section, ())} - {_KEPT}
    return {key: value for key, value in there.items() if key not in replaced}


def _said(text: str) -> object:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


# --- the text ------------------------------------------------------------------------------------


def _with_block(text: str, section: str, name: str, own: Json | None, block: Json) -> str | None:
    """Return the text with a block, or None if its form has no place for it.

    Lines of an existing block are kept if they stay true. `own` is its current content.
    """
    old = _entry(_entry_value(yaml.compose(text, yaml.SafeLoader), section), name)
    if own is None or old is None or not _has_lines(*old):
        return _put(text, (section, name), dict(block))
    changed = {key: value for key, value in block.items() if key not in own or own[key] != value}
    edited: str | None = text
    for key, value in {**changed, **dict.fromkeys(own.keys() - block.keys())}.items():
        edited = None if edited is None else _put(edited, (section, name, key), value)
    return edited


def _put(text: str, keys: tuple[str, ...], value: Any) -> str | None:  # noqa: ANN401
    """Return the text with an entry, added to the innermost existing section; None removes it."""
    room: yaml.Node | None = yaml.compose(text, yaml.SafeLoader)
    depth = 0
    while depth < len(keys) - 1 and (inner := _entry_value(room, keys[depth])) is not None:
        room, depth = inner, depth + 1
    old, new = _entry(room, keys[depth]), value
    for key in reversed(keys[depth + 1 :]):
        new = {key: new}
    if depth == 0:
        return f"{text.rstrip()}\n\n".lstrip() + block_text({keys[0]: new})
    if not isinstance(room, yaml.MappingNode) or room.flow_style or not room.value:
        return None
    lines = text.splitlines(keepends=True)
    lines[-1] = lines[-1].rstrip("\n") + "\n"
    if old is None:
        start = stop = _last_line(text, *room.value[-1]) + 1
    else:
        start, stop = old[0].start_mark.line, _last_line(text, *old) + 1
    indent = room.value[0][0].start_mark.column
    lines[start:stop] = [] if new is None else [block_text({keys[depth]: new}, indent=indent)]
    return "".join(lines)


def _has_lines(key: yaml.Node, value: yaml.Node) -> bool:
    """Return whether an entry is a mapping with a line for each of its settings, and no alias."""
    mapping = isinstance(value, yaml.MappingNode) and not value.flow_style
    return mapping and value.start_mark.index > key.start_mark.index


def _entry(node: yaml.Node | None, name: str) -> tuple[yaml.Node, yaml.Node] | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next(((key, value) for key, value in pairs if key.value == name), None)


def _entry_value(node: yaml.Node | None, name: str) -> yaml.Node | None:
    found = _entry(node, name)
    return None if found is None else found[1]


def _last_line(text: str, key: yaml.Node, value: yaml.Node) -> int:
    """Return the number of the last line of an entry, without blank lines and comments after it.

    An alias is composed as the node that it refers to, which is above the key.
    """
    if value.start_mark.index < key.start_mark.index:
        return int(key.end_mark.line)
    if isinstance(value, yaml.MappingNode) and value.value and not value.flow_style:
        return _last_line(text, *value.value[-1])
    if isinstance(value, yaml.SequenceNode) and value.value and not value.flow_style:
        return _last_line(text, key, value.value[-1])
    return text[: value.end_mark.index].rstrip().count("\n")


def _uneditable(path: Path, blocks: Blocks) -> ConfigError:
    return ConfigError(
        f"{path}: its form has no place for the block. Paste it by hand:\n{block_text(blocks)}"
    )
