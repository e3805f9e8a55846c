"""Write docs/settings.md: every setting with its type, default and meaning, from the models."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml

from clipaudit.config.examples import FOLDER
from clipaudit.config.settings import whole_settings
from clipaudit.config.shipped import workflow_folder
from clipaudit.plaindata import Json

OPENING = """# Settings

Every setting of a run, from the models that check them; `python -m clipaudit.cli.pages` writes this
page. [Settings files](../config/README.md) shows how to start.

`NAME` stands for a name that you choose. A setting with the default *none* may be absent. A
*required* setting must be present if its section is. *Its own*: the section's defaults.
"""
LINES = 24  # longest example, if a shorter one exists
BOUNDS = {
    "minimum": "≥ {}",
    "exclusiveMinimum": "> {}",
    "maximum": "≤ {}",
    "exclusiveMaximum": "< {}",
}
WORDS = {
    "integer": "whole number",
    "boolean": "true or false",
    "string": "text",
    "object": "mapping",
}


def settings_page() -> str:
    """Return the page: the top settings in the models' order, each followed by its sections.

    A section that several settings share is listed at the first one and linked from the others.
    """
    schema = whole_settings(()).model_json_schema()
    places = _places(schema)
    top = sorted(schema["properties"], key=lambda name: bool(_below(schema["properties"][name])))
    plain = {
        name: schema["properties"][name] for name in top if not _below(schema["properties"][name])
    }
    pages = [OPENING, _table({**schema, "properties": plain}, "", places)]
    for name in top[len(plain) :]:
        pages.append(f"## {name}\n\n{_sentence(schema['properties'][name]['description'])}")
        pages += [f"From `{FOLDER}{file}`:\n\n```yaml\n{text}```" for file, text in example(name)]
        mine = {each: at for each, at in places.items() if at.partition(".")[0] == name}
        for each, at in mine.items():
            section = schema["$defs"][each]
            if at != name:
                pages.append(f"### {at}")
            pages += [section.get("description", ""), _table(section, at, places)]
    return "\n\n".join(each.strip() for each in pages if each) + "\n"


def example(section: str) -> Iterator[tuple[str, str]]:
    """Yield at most one (file name, text): a section as an example file writes it.

    For sections by name, the text is the first entry. The longest text of at most LINES lines is
    used, else the shortest. Texts with aliases of other sections are skipped: they cannot stand
    alone.
    """
    found = [
        (path.name, text)
        for path in sorted((workflow_folder() / FOLDER).glob("*.yaml"))
        for text in _said(path, section)
    ]
    short = [each for each in found if each[1].count("\n") <= LINES]
    if short:
        yield max(short, key=lambda each: each[1].count("\n"))
    elif found:
        yield min(found, key=lambda each: each[1].count("\n"))


def _said(path: Path, section: str) -> Iterator[str]:
    """Yield a file's lines of the section, or of its first entry, if they are valid alone."""
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    top = yaml.compose(text, yaml.SafeLoader)
    assert isinstance(top, yaml.MappingNode)
    for key, value in top.value:
        if key.value != section:
            continue
        end = value.end_mark.line + bool(value.end_mark.column)
        if _by_name(section) and len(value.value) > 1:
            end = value.value[1][0].start_mark.line
        own = [line for line in lines[key.start_mark.line : end] if line.strip()]
        while own[-1].lstrip().startswith("#"):  # a comment on the next section
            own.pop()
        said = "".join(own)
        try:
            yaml.safe_load(said)
        except yaml.YAMLError:
            continue
        yield said


@cache
def _by_name(section: str) -> bool:
    return "patternProperties" in whole_settings(()).model_json_schema()["properties"][section]


def _places(schema: Json) -> dict[str, str]:
    """Return where each model of the schema is listed: the first setting that leads to it."""
    places: dict[str, str] = {}

    def walk(properties: Json, at: str) -> None:
        for name, value in properties.items():
            for below, path in _below(value):
                where = ".".join(filter(None, [at, name, path]))
                if below not in places:
                    own = schema["$defs"][below]["properties"]
                    which = own.get("kind", {}).get("const")  # of a union
                    places[below] = f"{where} (kind {which})" if which else where
                    walk(own, places[below])

    walk(schema["properties"], "")
    return places


def _below(value: Json, path: str = "") -> list[tuple[str, str]]:
    """Return the models in a setting's value, each with its path below the setting."""
    if "$ref" in value:
        return [(value["$ref"].rpartition("/")[2], path)]
    kinds = [each for key in ("anyOf", "oneOf", "prefixItems") for each in value.get(key, [])]
    found = [each for kind in kinds for each in _below(kind, path)]
    for inner in _named(value):
        found += _below(inner, f"{path}.NAME".strip("."))
    if isinstance(value.get("items"), dict):
        found += _below(value["items"], path)
    return found


def _named(value: Json) -> list[Json]:
    """Return the schema of the entries of a mapping by names, if it has one."""
    further = value.get("additionalProperties")
    own = list(value.get("patternProperties", {}).values())
    return own or [further] * isinstance(further, dict)


def _table(section: Json, at: str, places: dict[str, str]) -> str:
    required = section.get("required", [])
    rows = ["| setting | type | default | meaning |", "| :--- | :--- | :--- | :--- |"]
    for name, value in section.get("properties", {}).items():
        default = _default(value["default"]) if "default" in value else "*its own*"
        tells_apart = "const" in value  # the kind of a world, which its file must say
        default = "*required*" if name in required or tells_apart else default
        meaning = value.get("description", "").replace("\n", " ").replace("|", "\\|")
        meaning = meaning.replace("<", "&lt;")
        rows.append(f"| `{name}` | {kind(value, places)} | {default} | {meaning} |")
    return "\n".join(rows)


def _default(value: object) -> str:
    return "*none*" if value is None else f"`{json.dumps(value, ensure_ascii=False)}`"


def kind(value: Json, places: dict[str, str]) -> str:
    """Return a description of a setting's type, with its bounds and links to its sections.

    >>> kind({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, {})
    'whole number ≥ 1'
    >>> kind({"type": "array", "items": {"enum": ["a", "b"]}}, {})
    'list of `a` or `b`'
    """
    if "$ref" in value:
        place = places[value["$ref"].rpartition("/")[2]]
        anchor = re.sub(r"[^\w -]", "", place).replace(" ", "-").lower()
        return f"[{place}](#{anchor})"
    for key in ("anyOf", "oneOf"):
        if key in value:
            arms = [each for each in value[key] if each.get("type") != "null"]
            return " or ".join(kind(each, places) for each in arms)
    if "enum" in value:
        return " or ".join(f"`{each}`" for each in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    for inner in _named(value):
        return f"by name: {kind(inner, places)}"
    if "prefixItems" in value:
        return f"{len(value['prefixItems'])} of {kind(value['prefixItems'][0], places)}"
    if value.get("type") == "array":
        return f"list of {kind(value.get('items', {}), places)}"
    bounds = " and ".join(
        text.format(_bound(value[key])) for key, text in BOUNDS.items() if key in value
    )
    return f"{WORDS.get(value.get('type', ''), value.get('type', 'anything'))} {bounds}".strip()


def _bound(limit: float) -> str:
    """Return a limit; one of as many bits as an integer has is a power of 2.

    >>> _bound(1000), _bound(0.5), _bound(2**63)
    ('1,000', '0.5', '2^63')
    """
    bits = int(limit).bit_length() - 1
    return f"2^{bits}" if bits > 30 and limit == 2**bits else f"{limit:,}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
