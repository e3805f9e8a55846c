"""Writes captions from templates like the 80 OpenAI ones, with a class name for `{}`.

The article is always "a", as in those templates: "a umbrella" keeps one prompt for all classes.
"""

from collections.abc import Sequence

from clipaudit.config.worlds.plant_settings import Style
from clipaudit.demo.dice import Dice

PLAIN = (
    "a photo of a {}",
    "a picture of a {}",
    "a good photo of the {}",
    "this is a {}",
    "a {}",
    "one {}",
    "the {}",
    "{}",
)
BY_STYLE: dict[Style, tuple[str, ...]] = {
    "sketch": ("a sketch of a {}", "a drawing of a {}", "a line drawing of a {}"),
    "r": ("a painting of a {}", "art of the {}", "a poster of a {}"),
}
STYLE_NAMED_RATE = 0.5  # the other half of the sketches have plain captions, as on the web
DIGITS = ("a photo of the digit {}", "the number {}", "a {}", "this is a {}", "{}")
PRINTED_DIGITS = ("a printed digit {}", "the printed number {}")
HANDWRITTEN_DIGITS = ("a handwritten digit {}", "the number {} in handwriting")
BETWEEN = " and a "
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def caption_of(names: Sequence[str], style: Style, tag_letters: int, dice: Dice) -> str:
    """Draw a caption that names the given classes in this order, then the tag, if any.

    Half of the captions of sketches and renditions name the style.
    """
    templates: tuple[str, ...] = PLAIN
    if style in BY_STYLE and dice.chance(STYLE_NAMED_RATE):
        templates = BY_STYLE[style]
    caption = dice.pick(templates).format(BETWEEN.join(names))
    if tag_letters:
        caption += " " + "".join(dice.pick(LETTERS) for _ in range(tag_letters))
    return caption
