"""Makes candidate captions of the glyph world's scenes, one of them right, in the form of ARO's.

After Yuksekgonul et al., ICLR 2023 (https://arxiv.org/abs/2210.01936). The right one's place among
the candidates, and which of two symbols is named first, are random: neither reveals what is right.

* relation     "a star left of a gear" or "a gear left of a star", by the centres of the boxes
* attribution  "a large star and a small gear" or "a small star and a large gear", by their areas
* order        the caption and four shuffles of its words

Differences: among several symbols, the pair that differs most is used, as its truth is the
clearest. The shuffled nouns are the words of class names, not found by a tagger. If a way of
shuffling gives nothing new, all words are shuffled, so that candidates are distinct.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from math import factorial, prod

from clipaudit.config.worlds.glyph_settings import CandidateForm, GlyphWorld
from clipaudit.demo.captions import BETWEEN
from clipaudit.demo.dice import Dice
from clipaudit.demo.glyphs import symbols
from clipaudit.demo.scenes import Scene
from clipaudit.demo.styles import Box

OPPOSITE = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
SIZES = "a {} {} and a {} {}"
TRIES = 20  # of one way to shuffle, which may have only few results

Thing = tuple[str, Box]
Shuffle = Callable[[], list[str]]


def candidates_of(
    form: CandidateForm, scene: Scene, boxes: Sequence[Box], dice: Dice
) -> dict[str, object]:
    """Return `captions`, `right` (the true one's place) and `kind` (null: order) of an image.

    Box n is that of the scene's label n; relation and attribution need two boxes, order needs a
    caption that names the scene's `named`. Captions are distinct. Equal centres count as left of,
    then right, and equal areas as large, then small, in the order in which the symbols are drawn.
    """
    if form == "order":
        assert scene.caption is not None, "the settings ensure a caption"
        names = [symbols()[label].name for label in scene.named]
        return _placed(scene.caption, shuffles_of(scene.caption, names, dice), None, dice)
    names = [symbols()[label].name for label in scene.labels]
    pairs = combinations(zip(names, boxes, strict=True), 2)
    if form == "relation":
        first, second = max(pairs, key=_offset)  # the first of equals
        relation, (subject, thing) = _related(first, second, turned=dice.chance(0.5))
        right, wrong = f"a {subject} {relation} a {thing}", f"a {thing} {relation} a {subject}"
        return _placed(right, [wrong], relation, dice)
    first, second = max(pairs, key=_ratio)
    large, small = (first, second) if _area(first) >= _area(second) else (second, first)
    told = [("large", large[0]), ("small", small[0])]
    (size, one), (other_size, other) = told[::-1] if dice.chance(0.5) else told
    wrong = SIZES.format(other_size, one, size, other)
    return _placed(SIZES.format(size, one, other_size, other), [wrong], "size", dice)


def candidate_phrases(world: GlyphWorld) -> list[str]:
    """Return the phrases of candidates besides captions; none if no corpus has candidates."""
    forms = {plan.candidates for plan in world.corpora.values()}
    relations = [f"a {{}} {relation} a {{}}" for relation in OPPOSITE]
    sizes = [SIZES.format("large", "{}", "small", "{}")]
    return [*(relations if "relation" in forms else []), *(sizes if "attribution" in forms else [])]


def shuffles_of(caption: str, names: Sequence[str], dice: Dice) -> list[str]:
    """Return four other orders of a caption's words, or fewer if there are not as many.

    `names` are the classes that it names, in order. The first shuffles their words, the second the
    other ones, the third the words within each trigram, the fourth the trigrams.
    """
    words = caption.split()
    nouns = _noun_places(caption, names)
    others = [place for place in range(len(words)) if place not in nouns]
    trigrams = [words[start : start + 3] for start in range(0, len(words), 3)]
    shuffles: tuple[Shuffle, ...] = (
        lambda: _permuted(words, nouns, dice),
        lambda: _permuted(words, others, dice),
        lambda: [word for trigram in trigrams for word in dice.shuffled(trigram)],
        lambda: [word for trigram in dice.shuffled(trigrams) for word in trigram],
    )
    found = [caption]
    for shuffle in shuffles[: _arrangements(words) - 1]:
        found.append(_another(shuffle, words, found, dice))
    return found[1:]


def _placed(right: str, wrong: Sequence[str], kind: str | None, dice: Dice) -> dict[str, object]:
    """Return the candidates with the right one at a random place."""
    place = dice.integer(len(wrong) + 1)
    captions = [*wrong[:place], right, *wrong[place:]]
    return {"captions": captions, "right": place, "kind": kind}


# --- boxes ----------------------------------------------------------------------------------------


def _steps(first: Thing, second: Thing) -> tuple[int, int]:
    """Return twice the distance from one centre to the other, to the right and down."""
    (left, top, width, height), (to_left, to_top, to_width, to_height) = first[1], second[1]
    return 2 * (to_left - left) + to_width - width, 2 * (to_top - top) + to_height - height


def _offset(pair: tuple[Thing, Thing]) -> int:
    return max(map(abs, _steps(*pair)))


def _related(first: Thing, second: Thing, *, turned: bool) -> tuple[str, tuple[str, str]]:
    """Return the relation by the larger step and, in its order, the names; `turned`: the other."""
    right, down = _steps(first, second)
    if abs(right) >= abs(down):
        relation = "left of" if right >= 0 else "right of"
    else:
        relation = "above" if down > 0 else "below"
    if turned:
        return OPPOSITE[relation], (second[0], first[0])
    return relation, (first[0], second[0])


def _area(thing: Thing) -> int:
    return thing[1][2] * thing[1][3]


def _ratio(pair: tuple[Thing, Thing]) -> float:
    small, large = sorted(map(_area, pair))
    return large / max(1, small)


# --- words ----------------------------------------------------------------------------------------


def _noun_places(caption: str, names: Sequence[str]) -> list[int]:
    """Return the places of the words of class names among the caption's words."""
    place = len(caption[: caption.index(BETWEEN.join(names))].split())
    places: list[int] = []
    for name in names:
        end = place + len(name.split())
        places += range(place, end)
        place = end + len(BETWEEN.split())
    return places


def _arrangements(words: Sequence[str]) -> int:
    """Return the number of different orders of the words, counting equal words as one."""
    return factorial(len(words)) // prod(map(factorial, Counter(words).values()))


def _another(shuffle: Shuffle, words: list[str], found: Sequence[str], dice: Dice) -> str:
    """Return a new order of the words; there must be one."""
    for _ in range(TRIES):
        text = " ".join(shuffle())
        if text not in found:
            return text
    while (text := " ".join(dice.shuffled(words))) in found:
        pass
    return text


def _permuted(words: list[str], places: list[int], dice: Dice) -> list[str]:
    """Return the words with those at some places in a random order."""
    result = list(words)
    for place, source in zip(places, dice.shuffled(places), strict=True):
        result[place] = words[source]
    return result
