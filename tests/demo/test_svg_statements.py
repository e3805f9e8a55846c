import pytest
from tinyclipart import svg

from clipaudit.demo.clipart.svg_statements import MAX_BYTES, statements_of


def test_metadata_of_the_work_is_read_but_not_that_of_its_publisher():
    said = statements_of(svg("An owl"))

    assert (said.title, said.artist, said.description) == ("An owl", "Jean Doe", "")
    assert said.keywords == ["bird", "owl"]
    assert said.problem == ""


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Salt &amp; pepper &#233;", "Salt & pepper é"),
        ("  two\n   lines ", "two lines"),
        ("d&amp;#39;Aosta", "d&#39;Aosta"),  # escaped twice by its author
        ("梟 🦉 بومة", "梟 🦉 بومة"),
        ("<![CDATA[a < b]]>", "a < b"),
        ("", ""),
    ],
)
def test_titles_are_read_unchanged_except_for_white_space(written, read):
    assert statements_of(svg(written)).title == read


def test_encodings_declared_by_the_file_are_used():
    text = svg("Aragón").decode().replace('"1.0"?', '"1.0" encoding="iso-8859-1"?')

    assert statements_of(text.encode("latin-1")).title == "Aragón"


def test_each_text_element_is_one_text_and_tspans_on_a_new_line_are_separated():
    body = (
        '<text y="1"><tspan y="1">Cl</tspan><tspan>ip</tspan><tspan y="9">art</tspan></text>'
        "<g><text>  </text><text>FOR\n SALE</text></g>"
    )

    assert statements_of(svg(body=body)).text == ["Clip art", "FOR SALE"]


def test_titles_of_parts_are_not_the_title_of_the_drawing():
    assert statements_of(svg("", "<g><title>left wing</title></g>")).title == ""


@pytest.mark.parametrize("value", ['"ha"', 'SYSTEM "file:///etc/passwd"'])
def test_reading_stops_at_a_declared_entity(value):
    declared = f"<!DOCTYPE svg [<!ENTITY ha {value}>]>".encode()

    said = statements_of(svg("&ha;").replace(b"<svg", declared + b"<svg", 1))

    assert (said.title, said.problem) == ("", "declares the entity 'ha'")


def test_a_document_type_opens_no_file(tmp_path):
    declared = f'<!DOCTYPE svg SYSTEM "file://{tmp_path}/none.dtd">'.encode()

    said = statements_of(svg("An owl").replace(b"<svg", declared + b"<svg", 1))

    assert (said.title, said.problem) == ("An owl", "")


def test_content_before_the_damage_is_read():
    said = statements_of(svg("An owl", "<text>hoo</text><g>"))

    assert (said.title, said.text) == ("An owl", ["hoo"])
    assert said.problem.startswith("mismatched tag: line ")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "no element found: line 1, column 0"),
        (b"\x89PNG", "not well-formed (invalid token): line 1, column 0"),
        (b'<?xml version="1.0" encoding="no-such"?><a/>', "unknown encoding: no-such"),
        (b" " * (MAX_BYTES + 1), "larger than 16777216 bytes"),
    ],
)
def test_a_file_that_is_not_svg_states_only_its_problem(data, problem):
    said = statements_of(data)

    assert (said.title, said.text, said.problem) == ("", [], problem)


def test_deep_nesting_causes_no_problem():
    deep = b"<g>" * 100_000 + b"</g>" * 100_000

    assert statements_of(deep).problem == ""
