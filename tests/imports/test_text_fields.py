"""Which field is taken for the captions of samples."""

import json

import pytest

from clipaudit.corpora.captions import Captioning
from clipaudit.imports.text_fields import TextFields

LISTED = ["a cat", "a red cat"]


@pytest.mark.parametrize(
    ("samples", "settings"),
    [
        ([("a cat", {"captions": LISTED}), ("a dog", {})], {"captions": "texts"}),
        ([("a cat", {"captions": LISTED}), *[("a dog", {})] * 2], {"captions": "text"}),
        # what is written in some images, as in the clip art of `make clipart`
        ([("a cat", {"text": ["STOP"]}), *[("a dog", {})] * 9], {"captions": "text"}),
        ([("a cat", {"text": ["STOP"]})], {"captions": "text"}),
        (
            [(None, {"title": "a cat", "text": ["STOP"]})],
            {"captions": "text", "caption_field": "title"},
        ),
        ([(None, {"text": LISTED})], {"captions": "texts", "caption_field": "text"}),
    ],
)
def test_a_list_is_taken_for_captions_if_it_is_named_so_or_nothing_else_is(samples, settings):
    seen = TextFields()
    for text, fields in samples:
        seen.add(text, fields)

    assert seen.settings == settings


def test_a_field_that_is_named_is_used_even_if_it_is_rare():
    seen = TextFields("text")
    for fields in ({"text": ["STOP"]}, {}, {}):
        seen.add("a cat", fields)

    assert seen.settings == {"captions": "texts", "caption_field": "text"}


@pytest.mark.parametrize("named", [None, "txt", ".txt"])
@pytest.mark.parametrize(
    ("text", "fields", "found"),
    [
        ("a cat", {}, {}),  # the member
        (None, {"txt": "a cat"}, {"caption_field": "txt"}),  # a column of this name
    ],
)
def test_the_field_txt_is_not_the_member_txt(named, text, fields, found):
    seen = TextFields(named)
    seen.add(text, fields)

    assert seen.captioned == 1
    assert seen.settings == {"captions": "text", **found}


@pytest.mark.parametrize(
    ("samples", "captioned"),
    [
        ([("a cat", {}), *[(None, {"title": "a dog"})] * 2], 3),
        ([("a cat", {}), (None, {"text": "no", "title": "a dog"}), (None, {"title": "a dog"})], 2),
        ([(" ", {"caption": "a cat"})], 0),
    ],
)
def test_samples_count_as_captioned_where_the_index_finds_a_caption(samples, captioned):
    seen = TextFields()
    for text, fields in samples:
        seen.add(text, fields)
    named = Captioning("text", field=seen.settings.get("caption_field", "caption"))
    members = [
        {"json": json.dumps(fields).encode(), **({} if text is None else {"txt": text.encode()})}
        for text, fields in samples
    ]

    assert seen.captioned == captioned
    assert sum(named.caption(each) is not None for each in members) == captioned
