"""A file of settings that gets blocks: written whole or not at all, every other line kept.

YAML libraries that write lose comments, anchors and the order of lines, so the text itself is
edited: where a block goes is read off the marks of the parser, and the new text must say exactly
what the old one and the blocks say, else nothing is written.
"""

from pathlib import Path
from typing import Any

import yaml

from clipaudit.config.loading import extended, parse_settings, read_settings
from clipaudit.errors import ConfigError
from clipaudit.imports.blocks import Blocks, block_text
from clipaudit.store.store import replace_text


def add_blocks(path: Path, blocks: Blocks, *, force: bool) -> None:
    """Add blocks to the settings of `path`, a new file where there is none.

    A block that stands there already and says the same is left; one that differs is replaced with
    `force` only. Raise ConfigError, and leave the file as it was, for a block that is not to be
    replaced, for settings that would be wrong, and for a file whose form cannot be edited.
    """
    text, below = "", {}
    if path.exists():
        below = read_settings(path)  # with what it extends
        text = path.read_text(encoding="utf-8")
    wanted = yaml.safe_load(text) or {}
    for section, named in blocks.items():
        for name, block in named.items():
            there = (below.get(section) or {}).get(name)
            if there == block:
                continue
            if there is not None and not force:
                raise ConfigError(
                    f"{path}: {section}.{name} is there and says something else. Give another "
                    "name, or replace it by --force."
                )
            text = _edited(path, text, section, name, block)
            wanted[section] = {**(wanted.get(section) or {}), name: dict(block)}
    if _said(text) != wanted:
        raise _uneditable(path, blocks)
    parse_settings(extended(wanted))
    replace_text(path, text)


def _said(text: str) -> object:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return None


def _edited(path: Path, text: str, section: str, name: str, block: Any) -> str:  # noqa: ANN401
    root = yaml.compose(text, yaml.SafeLoader)
    room = _entry(root, section)
    if room is None:
        return f"{text.rstrip()}\n\n".lstrip() + block_text({section: {name: block}})
    _, content = room
    if not isinstance(content, yaml.MappingNode) or content.flow_style or not content.value:
        raise _uneditable(path, {section: {name: block}})
    indent = content.value[0][0].start_mark.column
    lines = text.splitlines(keepends=True)
    lines[-1] = lines[-1].rstrip("\n") + "\n"
    old = _entry(content, name)
    if old is None:
        start = stop = _last_line(text, *content.value[-1]) + 1
    else:
        start, stop = old[0].start_mark.line, _last_line(text, *old) + 1
    lines[start:stop] = [block_text({name: block}, indent=indent)]
    return "".join(lines)


def _entry(node: yaml.Node | None, name: str) -> tuple[yaml.Node, yaml.Node] | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next(((key, value) for key, value in pairs if key.value == name), None)


def _last_line(text: str, key: yaml.Node, value: yaml.Node) -> int:
    """Return the number of the last line of an entry, blank lines and comments after it left out.

    An alias is composed as the node that it stands for, which lies above the key.
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
        f"{path}: its form leaves no place for the block. Paste it by hand:\n{block_text(blocks)}"
    )
