"""Every text colour of the report on each of its backgrounds: WCAG AA, 4.5 to 1."""

import re
from importlib.resources import files
from itertools import product

import pytest

STYLE = (files("clipaudit.site") / "static" / "report.css").read_text()
COLOURS = {
    name: {"light": light, "dark": dark}
    for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", STYLE)
}
GROUNDS = ("paper", "raised", "accent-tint", "theirs-tint")
TEXTS = tuple(sorted(COLOURS.keys() - {*GROUNDS, "line"}))


def luminance(colour):
    """The relative luminance of an sRGB colour (WCAG 2.2)."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    lower, higher = sorted((luminance(one), luminance(other)))
    return (higher + 0.05) / (lower + 0.05)


def test_black_on_white_has_the_highest_contrast():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize(("text", "ground", "theme"), [*product(TEXTS, GROUNDS, ("light", "dark"))])
def test_text_is_legible_on_every_ground(text, ground, theme):
    assert contrast(COLOURS[text][theme], COLOURS[ground][theme]) >= 4.5


def test_every_text_colour_of_the_style_sheet_is_checked():
    used = set(re.findall(r"(?<![-\w])color: ([^;]+);", STYLE))

    assert used <= {f"var(--{name})" for name in TEXTS}
