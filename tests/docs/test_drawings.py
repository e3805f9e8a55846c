"""Drawings of the pages are small, have their own background, and fetch nothing."""

import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
DRAWINGS = sorted((ROOT / "docs/pictures").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_a_drawing_is_small_and_has_a_title_and_a_background(path):
    root = ElementTree.parse(path).getroot()

    assert path.stat().st_size < 8_000
    assert root.find(f"{SVG}title").text
    assert root.find(f"{SVG}rect").get("fill") == "#fff"


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: path.stem)
def test_a_drawing_fetches_nothing(path):
    text = path.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")

    assert not re.search(r"//|@import|<script|<image", text)


@pytest.mark.parametrize(
    "path", [path for path in DRAWINGS if path.stem != "rooms"], ids=lambda path: path.stem
)
def test_a_concept_has_its_drawing(path):
    concept = path.stem.removeprefix("concept_")

    assert f"](../pictures/{path.name})" in (ROOT / f"docs/concepts/{concept}.md").read_text()


def test_the_drawing_of_the_rooms_has_each_room_in_its_layer():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [layer.replace(" | ", " · ") for layer in contracts["contracts"][0]["layers"]]

    texts = re.findall(r"<text[^>]*>([^<]*)</text>", (ROOT / "docs/pictures/rooms.svg").read_text())

    assert [text for text in texts if text in layers] == layers
    assert "](docs/pictures/rooms.svg)" in (ROOT / "CONTRIBUTING.md").read_text()
