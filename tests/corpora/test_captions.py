import pytest

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.reasons import Unusable
from clipaudit.errors import ConfigError

TEXT = Captioning("text")
TEXTS = Captioning("texts")
PHOTO = Captioning("class", "a photo of a {}", ("cat", "dog"))


@pytest.mark.parametrize(
    ("members", "caption"),
    [
        ({"txt": "größe\n\tNaN".encode()}, "größe\n\tNaN"),
        ({"txt": b"text", "json": b'{"caption": "json"}'}, "text"),
        ({"json": b'{"caption": "json"}'}, "json"),
        ({"txt": b"bell\a\0"}, "bell\a\0"),
        ({"txt": b"", "json": b'{"caption": "json"}'}, None),
        ({"txt": b" \n"}, None),
        ({"json": b'{"caption": null}'}, None),
        ({"json": b"{}"}, None),
        ({}, None),
    ],
)
def test_texts_are_kept_unchanged(members, caption):
    assert TEXT.caption(members) == caption


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"txt": b"\xff\xfe"}, "bad caption: not UTF-8 at byte 0"),
        ({"json": b'{"caption": 7}'}, "bad caption: expected a text, found int"),
        ({"json": b'{"caption": "\\ud800"}'}, "bad caption: unpaired surrogate"),
        ({"json": b"\xff"}, "bad json: not UTF-8"),
        ({"json": b"{"}, "bad json: not JSON at character 1"),
        ({"json": b"[]"}, "bad json: expected an object, found list"),
        ({"json": b"[" * 100_000}, "bad json: not JSON"),
        ({"json": b'{"caption": 1' + b"0" * 5000 + b"}"}, "bad json: not JSON"),
    ],
)
def test_an_invalid_text_is_unusable(members, reason):
    with pytest.raises(Unusable, match=reason):
        TEXT.caption(members)


@pytest.mark.parametrize(
    ("members", "captions"),
    [
        (
            {"json": b'{"captions": ["a cat", " two\\ncats ", "a cat"]}'},
            ("a cat", " two\ncats ", "a cat"),
        ),
        ({"json": b'{"captions": ["", null, " \\n", "a cat"]}'}, ("a cat",)),
        ({"json": b'{"captions": ["list"]}', "txt": b"line"}, ("list",)),
        ({"json": b'{"captions": []}', "txt": b"line"}, ()),
        ({"json": b'{"captions": null}', "txt": b"line"}, ("line",)),
        ({"json": b'{"caption": "one"}', "txt": b"line"}, ("line",)),
        ({"txt": "größe\n\n \r\n two \rthree\n".encode()}, ("größe", " two ", "three")),
        ({"txt": "a\u2028b\fc".encode()}, ("a\u2028b\fc",)),
        ({"txt": b" \n"}, ()),
        ({"json": b'{"caption": "one\\ntwo"}'}, ("one\ntwo",)),
        ({"json": b'{"caption": " "}'}, ()),
        ({}, ()),
    ],
)
def test_several_captions_come_from_a_list_or_from_lines(members, captions):
    assert TEXTS.captions(members) == captions
    assert TEXTS.caption(members) == (captions[0] if captions else None)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"json": b'{"captions": ["a cat", 7]}'}, "bad caption: expected a text, found int"),
        ({"json": b'{"captions": ["a cat", ["a dog"]]}'}, "expected a text, found list"),
        ({"json": b'{"captions": ["a cat", "\\ud800"]}'}, "bad caption: unpaired surrogate"),
        ({"json": b'{"captions": "a cat"}'}, "bad caption: expected a list, found str"),
        ({"json": b'{"caption": 7}'}, "bad caption: expected a text, found int"),
        ({"json": b'{"captions": {}}'}, "bad caption: expected a list, found dict"),
        ({"json": b'{"captions": false}', "txt": b"a cat"}, "expected a list, found bool"),
        ({"json": b"{", "txt": b"a cat"}, "bad json: not JSON"),
        ({"txt": b"a cat\n\xff"}, "bad caption: not UTF-8 at byte 6"),
    ],
)
def test_an_invalid_list_of_texts_is_unusable(members, reason):
    for read in (TEXTS.caption, TEXTS.captions):
        with pytest.raises(Unusable, match=reason):
            read(members)


def test_other_sources_have_at_most_one_caption():
    members = {"txt": b"a cat\na dog", "cls": b"1", "json": b'{"captions": ["b", "c"]}'}

    assert TEXT.captions(members) == ("a cat\na dog",)
    assert PHOTO.captions(members) == ("a photo of a dog",)
    assert Captioning("none").captions(members) == TEXT.captions({}) == PHOTO.captions({}) == ()


@pytest.mark.parametrize(
    ("members", "label"),
    [
        ({"cls": b"1\n"}, 1),
        ({"cls": b"01"}, 1),
        ({"json": b'{"cls": 1}'}, 1),
        ({"json": b'{"label": "1"}'}, 1),
        ({"json": b'{"label": 1.0}'}, 1),
        ({"json": b'{"label": "0.0"}'}, 0),
        ({"cls": b"1.00"}, 1),
        ({"cls": b"0", "json": b'{"cls": 1}'}, 0),
        ({}, None),
        ({"json": b'{"cls": null}'}, None),
    ],
)
def test_labels_come_from_cls_or_json(members, label):
    assert PHOTO.label(members) == label
    assert PHOTO.caption(members) == (
        None if label is None else f"a photo of a {'cat dog'.split()[label]}"
    )


@pytest.mark.parametrize(
    ("members", "detail"),
    [
        ({"cls": b"cat"}, "b'cat' is not an integer"),
        ({"cls": b"0.5"}, "b'0.5' is not an integer"),
        ({"json": b'{"label": 1.5}'}, "b'1.5' is not an integer"),
        ({"json": b'{"label": NaN}'}, "not an integer"),
        ({"cls": b"1."}, "not an integer"),
        ({"cls": b""}, "b'' is not an integer"),
        ({"cls": b"1_0"}, "not an integer"),
        ({"cls": "\u0661".encode()}, "not an integer"),
        ({"cls": b"9" * 5000}, "not an integer"),
        ({"json": b'{"cls": true}'}, "b'True' is not an integer"),
        ({"json": b'{"cls": "\\ud800"}'}, "not an integer"),
        ({"json": b'{"cls": [1]}'}, "not an integer"),
        ({"cls": b"2"}, "2 is outside 0 to 1"),
        ({"cls": b"-1"}, "-1 is outside 0 to 1"),
    ],
)
def test_labels_that_do_not_number_a_class_are_unusable(members, detail):
    with pytest.raises(Unusable, match=rf"(bad label|unknown class): .*{detail}"):
        PHOTO.caption(members)


def test_labels_without_class_names_fit_the_column():
    assert TEXT.label({"cls": b"2147483647"}) == 2**31 - 1
    with pytest.raises(Unusable, match="2147483648 is outside"):
        TEXT.label({"cls": b"2147483648"})


def test_no_captions_are_read_if_none_are_wanted():
    assert Captioning("none").caption({"txt": b"a cat"}) is None


def test_braces_in_a_class_name_are_plain_text():
    assert Captioning("class", "a {}", ("{0.x}",)).caption({"cls": b"0"}) == "a {0.x}"


@pytest.mark.parametrize("template", ["a photo", "{} {}", "{class}", "{0}", "a {", "{} {x}"])
def test_templates_have_one_place_for_the_class(template):
    with pytest.raises(ConfigError, match=r"exactly one \{\}"):
        Captioning("class", template, ("cat",))


def test_class_captions_need_class_names():
    with pytest.raises(ConfigError, match="no class names"):
        Captioning("class")
