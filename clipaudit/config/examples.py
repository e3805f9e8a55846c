"""The example settings that come with the workflow: config/*.yaml, and what they name."""

from collections.abc import Iterator
from pathlib import Path

import yaml

from clipaudit.config.shipped import workflow_folder
from clipaudit.errors import ConfigError
from clipaudit.suggestions import did_you_mean

FOLDER = "config/"


def examples() -> dict[str, str]:
    """Return the first sentence of each example's comment, by the example's name."""
    found = sorted((workflow_folder() / FOLDER).glob("*.yaml"))
    return {path.stem: _first_sentence(path.read_text(encoding="utf-8")) for path in found}


def example(name: str) -> Path:
    """Return the file of an example; raise ConfigError for an unknown name."""
    path = workflow_folder() / FOLDER / f"{name}.yaml"
    if name not in examples():
        raise ConfigError(f"{name}: no such example settings.{did_you_mean(name, examples())}")
    return path


def companions(path: Path) -> dict[str, Path]:
    """Return the files in config/ that an example names, directly or indirectly, by name.

    These are settings that it extends, and class names.
    """
    named: dict[str, Path] = {}
    for text in _texts(yaml.safe_load(path.read_text(encoding="utf-8"))):
        file = workflow_folder() / text
        if text.startswith(FOLDER) and file.is_file():
            named[text] = file
            if file.suffix == ".yaml":
                named |= companions(file)
    return named


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        yield from _texts(list(content.values()))
    elif isinstance(content, list):
        for item in content:
            yield from _texts(item)


def _first_sentence(text: str) -> str:
    """Return the first sentence of a file's leading comment.

    >>> _first_sentence("# Real pictures,\\n# of cats. And dogs.\\n\\nstore: store\\n")
    'Real pictures, of cats.'
    """
    lines = text.partition("\n\n")[0].splitlines()
    comment = " ".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))
    return comment.partition(". ")[0].rstrip(".") + "."
