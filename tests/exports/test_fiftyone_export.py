import hashlib
import json

import pytest
from exportedrun import ExportedRun, picture, two_parts, uid
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.exports.fiftyone import box
from clipaudit.exports.formats import export
from clipaudit.parrot.spans import SPANS, Span, spans_table

HOSTILE = "=1+1\x1b[31m\n\u202e<script>"


@pytest.fixture
def run(tmp_path):
    return two_parts(tmp_path)


def write(run, asked, form, **options):
    output = run.folder / f"out.{form}"
    return export(run.results, run.store, asked, form, output, **options), output


def documents(folder):
    return json.loads((folder / "samples.json").read_text())["samples"]


def test_fiftyone_has_an_image_and_a_document_for_each_sample(run):
    _, output = write(run, "large/pruned", "fiftyone")

    found = documents(output)
    assert [each["filepath"] for each in found] == [
        f"data/{uid(n)[:2]}/{uid(n)}.png" for n in (9, 7, 4)
    ]
    assert (output / found[2]["filepath"]).read_bytes() == picture(5)
    assert found[0]["metadata"]["width"] == 8
    assert {tag for each in found for tag in each["tags"]} == {"kept"}


def test_fiftyone_tags_removed_samples_and_omits_those_without_an_image(run):
    tally, output = write(run, "large/pruned", "fiftyone", all_rows=True)

    tags = [each["tags"] for each in documents(output)]
    assert tags == [["kept"], ["removed"], ["kept"], ["removed"], ["kept"]]
    assert tally.notes == ["left out, without a usable image: 1 row"]


def test_fiftyone_without_images_names_their_places(run):
    _, output = write(run, "large/pruned", "fiftyone", pictures=False)

    assert len(documents(output)) == 3
    assert list((output / "data").iterdir()) == []


def test_fiftyone_describes_each_field_that_its_samples_have(run):
    _, output = write(run, "large/pruned", "fiftyone", all_rows=True)

    fields = json.loads((output / "metadata.json").read_text())["sample_fields"]
    assert {each["db_field"] for each in fields} == set(documents(output)[0])


def test_text_boxes_are_fractions_of_the_image(run):
    square = (0.0, 0.0, 4.0, 0.0, 4.0, 2.0, 0.0, 2.0)
    span = Span(HOSTILE, 0.5, square)
    table = spans_table([(0, 0, [span]), (1, 0, [])])
    pointer = run.put(table, SPANS)
    run.act("spot", {"spans": ("spans/large/00000.json", pointer)})

    _, output = write(run, "large/all", "fiftyone")

    first, second, third, *_ = documents(output)
    assert first["text"]["detections"][0]["bounding_box"] == [0.0, 0.0, 0.5, 0.5]
    assert first["text"]["detections"][0]["label"] == HOSTILE
    assert (second["text"], third["text"]["detections"]) == (None, [])


def test_images_with_the_same_uid_have_separate_files(tmp_path):
    run = ExportedRun(tmp_path)
    pictures = [picture(shade) for shade in (1, 2, 1, 2)]
    run.index("small", "00000", [[(uid(3), "a", each) for each in pictures]])
    run.manifest("small", "all", "00000", [(0, row, None) for row in range(4)])

    _, output = write(run, "small/all", "fiftyone")

    names = [each["filepath"].rpartition("/")[2] for each in documents(output)]
    other = f"{uid(3)}-{hashlib.sha256(picture(2)).hexdigest()[:32]}.png"
    assert names == [f"{uid(3)}.png", other] * 2
    assert [(output / "data/00" / name).read_bytes() for name in names] == pictures


def test_equal_exports_have_equal_bytes(run):
    first, second = run.folder / "one", run.folder / "two"

    for output in (first, second):
        export(run.results, run.store, "large/all", "fiftyone", output)

    for name in ("metadata.json", "samples.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


@given(
    st.lists(st.floats(-50, 150, width=32), min_size=6, max_size=12).filter(
        lambda numbers: len(numbers) % 2 == 0
    )
)
def test_a_box_never_extends_beyond_its_image(polygon):
    left, top, width, height = box(polygon, 100, 50)

    assert min(left, top, width, height) >= 0
    assert max(left + width, top + height) <= 1 + 1e-12
