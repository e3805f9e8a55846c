import json
import os

import pytest
from tinyclipart import huge_png, library, png, put, svg

from clipaudit.demo.clipart.drawings import find_drawings, made, name_words, without_picture
from clipaudit.errors import InputError


def only(folder):
    [drawing] = find_drawings(folder)
    return drawing


def fields(sample):
    return json.loads(dict(sample.members)["json"])


def test_a_sample_records_the_svg_statements_and_its_source(tmp_path):
    put(tmp_path, "animals/birds/owl_01", png(size=(600, 300)), svg("Owl", "<text>hoo</text>"))

    sample = made(only(tmp_path))

    assert [extension for extension, _ in sample.members] == ["png", "txt", "json"]
    assert dict(sample.members)["txt"] == b"Owl"
    assert fields(sample) == {
        "title": "Owl", "keywords": ["bird", "owl"], "artist": "Jean Doe", "has_text": True,
        "text": ["hoo"], "category": "animals/birds", "source": "png/animals/birds/owl_01.png",
        "width": 600, "height": 300,
    }  # fmt: skip


@pytest.mark.parametrize("drawing", [b"", svg(""), b"no svg"])
def test_without_a_title_the_caption_is_the_words_of_the_file_name(tmp_path, drawing):
    put(tmp_path, "tools/red_saw-jean_02", drawing=drawing)

    sample = made(only(tmp_path))

    assert dict(sample.members)["txt"] == b"red saw jean"
    assert "title" not in fields(sample)
    assert fields(sample)["has_text"] is False


def test_a_missing_or_bad_svg_is_reported(tmp_path):
    put(tmp_path, "a", drawing=b"")

    assert fields(made(only(tmp_path)))["svg_problem"] == "no SVG"


def test_an_oversized_image_is_kept_unchanged_with_its_size(tmp_path):
    put(tmp_path, "a", huge_png(30000, 20000))

    sample = made(only(tmp_path))

    assert dict(sample.members)["png"] == huge_png(30000, 20000)
    assert "exceeds limit" in sample.refused
    assert (fields(sample)["width"], fields(sample)["height"]) == (30000, 20000)


def test_added_files_do_not_move_other_files_between_sets(tmp_path):
    before = {drawing.name: drawing for drawing in find_drawings(library(tmp_path, 100))}
    library(tmp_path, 200)

    after = {drawing.name: drawing for drawing in find_drawings(tmp_path)}

    assert {name: after[name] for name in before} == before
    tests = sum(drawing.set == "test" for drawing in after.values())
    assert tests == 18  # of 200, a twelfth


def test_the_draw_is_pinned(tmp_path):
    """A changed literal here means other sets: every published number of clip art is stale."""
    put(tmp_path, "food/fruit/apple_mateya_01")

    assert only(tmp_path)[1:3] == ("f15decf11d8c80ed", "web")


@pytest.mark.parametrize("name", ["a b'\"; $(x)", "日本", "x.tar.gz", "line\nend", "-rf", "\udcff"])
def test_odd_file_names_do_not_reach_member_names(tmp_path, name):
    put(tmp_path, name)

    drawing = only(tmp_path)

    assert len(drawing.key) == 16
    assert int(drawing.key, 16) >= 0
    assert fields(made(drawing))["source"].isprintable() == (name not in ("line\nend",))


def test_links_inside_the_library_are_drawings_and_links_outside_are_refused(tmp_path):
    put(tmp_path / "x", "owl")
    os.symlink("owl.png", tmp_path / "x/png/again.png")
    assert {drawing.name for drawing in find_drawings(tmp_path / "x")} == {"owl", "again"}

    (tmp_path / "secret").write_text("secret")
    os.symlink("../../secret", tmp_path / "x/png/out.png")

    with pytest.raises(InputError, match=r"png/out\.png: a link that leads out of"):
        find_drawings(tmp_path / "x")


def test_an_svg_that_links_outside_the_library_is_refused(tmp_path):
    put(tmp_path / "x", "owl", drawing=b"")
    (tmp_path / "x/svg").mkdir()
    os.symlink("/etc/hostname", tmp_path / "x/svg/owl.svg")

    with pytest.raises(InputError, match=r"owl\.svg: a link that leads out of"):
        find_drawings(tmp_path / "x")


def test_svgs_without_an_image_are_listed(tmp_path):
    library(tmp_path, 2)
    (tmp_path / "png/shapes/disc_01.png").unlink()

    assert without_picture(tmp_path) == ["shapes/disc_01"]


def test_a_folder_without_drawings_is_refused(tmp_path):
    with pytest.raises(InputError, match="no drawings in png/"):
        find_drawings(tmp_path)


@pytest.mark.parametrize(
    ("name", "words"),
    [("a/red_owl.v2_01", "red owl v2"), ("viewmag+", "viewmag"), ("007", "007"), ("été_3", "été")],
)
def test_a_file_name_is_split_into_words(name, words):
    assert name_words(name) == words
