import pytest
from pydantic import TypeAdapter, ValidationError

from clipaudit.config.worlds import DigitWorld, GlyphWorld, World
from clipaudit.demo.glyph_world import sample
from clipaudit.demo.scenes import Address


def glyphs(**settings):
    return GlyphWorld(corpora={"large": settings, "val": {}})


def test_kind_chooses_the_world():
    read = TypeAdapter(World).validate_python

    assert isinstance(read({"kind": "glyphs", "corpora": {"x": {}}}), GlyphWorld)
    assert isinstance(read({"kind": "digits", "corpora": {"x": {"printed": 1}}}), DigitWorld)


def test_every_setting_has_a_description():
    for name, schema in TypeAdapter(World).json_schema()["$defs"].items():
        for field, described in schema["properties"].items():
            assert described.get("description"), f"{name}.{field}"


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"styles": {"foto": 1}}, "Input should be 'photo', 'sketch', 'r', 'a', 'v2', 'objectnet'"),
        ({"styles": {}}, "at least 1 item"),
        ({"styles": {"photo": 0}}, "greater than 0"),
        ({"repeated_caption_rate": 1.5}, "less than or equal to 1"),
        ({"written": {"rate": -0.1}}, "greater than or equal to 0"),
        ({"near_duplicates": [{"of": "val", "rate": 2}]}, "less than or equal to 1"),
        (
            {"near_duplicates": [{"of": "val", "rate": 0.7}, {"of": "sketch", "rate": 0.7}]},
            "the rates add up to 1.4; at most 1",
        ),
        (
            {"near_duplicates": [{"of": "test", "rate": 0.1}]},
            "corpora.large.near_duplicates: `test` is not a corpus of this world",
        ),
        ({"near_duplicates": [{"of": "large", "rate": 0.1}]}, "`large` has near duplicates itself"),
        ({"objects": (3, 2)}, "objects: 3 to 2 symbols; give 1 <= fewest <= most <= 5"),
        ({"objects": (1, 6)}, "objects: 1 to 6 symbols"),
        ({"objects": (1, 4), "first_classes": 3}, "4 different symbols from 3 classes"),
        (
            {"first_classes": 51},
            "corpora.large.first_classes ends before 51, but the world has 50 classes",
        ),
        ({"classes": (3, 3)}, "classes: the range from 3 to before 3 is empty; give the first"),
        ({"classes": (-1, 3)}, "classes: the range from -1 to before 3 is empty"),
        (
            {"classes": (0, 5), "first_classes": 5},
            "classes and first_classes are both given; keep classes",
        ),
        (
            {"classes": (40, 51)},
            "corpora.large.classes ends before 51, but the world has 50 classes",
        ),
        ({"classes": (4, 6), "objects": (1, 3)}, "3 different symbols from 2 classes; widen cl"),
        ({"copies": {"rate": 1.2}}, "less than or equal to 1"),
        ({"copies": {"rate": 0.1, "shift": 9}}, "less than or equal to 8"),
        (
            {
                "classes": (0, 40),
                "near_duplicates": [{"of": "val", "rate": 0.25}],
                "copies": {"rate": 0.5},
                "strangers": {"rate": 0.5, "classes": (40, 50)},
            },
            "near_duplicates, copies, strangers: the rates add up to 1.25; at most 1",
        ),
        (
            {"strangers": {"rate": 0.1, "classes": (7, 5)}},
            "strangers.classes: the range from 7 to before 5 is empty",
        ),
        ({"strangers": {"rate": 0.1, "classes": (0, 5), "styles": {}}}, "at least 1 item"),
        (
            {"strangers": {"rate": 0.1, "classes": (40, 50)}},
            "corpora.large.strangers: their classes, 40 to 49, overlap the ordinary ones, 0 to 49",
        ),
        (
            {"classes": (5, 41), "strangers": {"rate": 0.1, "classes": (40, 50)}},
            "40 to 49, overlap the ordinary ones, 5 to 40; limit the ordinary ones with classes",
        ),
        (
            {"first_classes": 40, "strangers": {"rate": 0.1, "classes": (40, 51)}},
            "corpora.large.strangers.classes ends before 51, but the world has 50 classes",
        ),
        (
            {
                "classes": (0, 40),
                "objects": (1, 3),
                "strangers": {"rate": 0.1, "classes": (40, 42)},
            },
            "3 different symbols from 2 classes; widen strangers.classes",
        ),
        (
            {"framed": {"rate": 0.75, "leaning": 0.75}},
            "a rate of 0.75 with a leaning of 0.75 would frame 1.12 times the images of one half",
        ),
        ({"framed": {"rate": 0.75, "leaning": 0}}, "would frame 1.50 times"),
        ({"captioned": False}, "captioned and labelled are both false"),
        (
            {"captioned": False, "labelled": True, "written": {"rate": 0.1}},
            "there is no caption to repeat; set repeats_caption to 0",
        ),
        ({"stiles": {"photo": 1}}, "Extra inputs are not permitted"),
    ],
)
def test_an_impossible_glyph_corpus_is_refused(plan, message):
    with pytest.raises(ValidationError, match=message):
        glyphs(**plan)


@pytest.mark.parametrize(
    "plan",
    [
        {"classes": (40, 50)},
        {"classes": (10, 50), "strangers": {"rate": 1, "classes": (0, 10)}},
        {"first_classes": 40, "strangers": {"rate": 0.5, "classes": (40, 50)}},
        {"framed": {"rate": 0.5, "leaning": 1}},
        {"framed": {"rate": 1}},
    ],
)
def test_settings_at_their_limits_are_accepted(plan):
    assert glyphs(**plan).corpora["large"].model_dump(exclude_unset=True) == plan


def test_words_need_images_that_can_hold_them():
    with pytest.raises(ValidationError, match="need a side of 48 pixels, but side is 32"):
        GlyphWorld(side=32, corpora={"large": {"written": {"rate": 0.1}}})


def test_words_need_letters_of_five_pixels():
    def world(side):
        written = {"rate": 1, "type_size": 0.1}
        return GlyphWorld(side=side, corpora={"large": {"written": written}})

    with pytest.raises(ValidationError, match=r"type_size: 0\.1 of 49 pixels is less than 5"):
        world(49)
    assert sample(world(50), Address("large", 0, 0)).truth["text"] == "umbrella"


@pytest.mark.parametrize(
    ("corpora", "message"),
    [
        ({"x": {}}, "printed is 0.0, but scans is null"),
        ({"x": {"scans": (0.5, 0.5)}}, "the range 0.5 to 0.5 is empty"),
        ({"x": {"scans": (0, 1), "printed": 1}}, "set scans to null"),
        (
            {"x": {"scans": (0, 0.6)}, "y": {"scans": (0.5, 1)}},
            "corpora.x.scans ends at 0.6, but corpora.y.scans begins at 0.5",
        ),
    ],
)
def test_an_impossible_digit_world_is_refused(corpora, message):
    with pytest.raises(ValidationError, match=message):
        DigitWorld(corpora=corpora)
