import pyarrow as pa
import pytest

from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

SETS = [("web", "a", "4"), ("web", "public", "4"), ("coco", "public", "1.0")]
OBJECTS = pa.schema(
    [
        ("corpus", pa.string()),
        ("shard", pa.int32()),
        ("row", pa.int32()),
        ("labels", pa.list_(pa.int32())),
    ]
)


def members(rows):
    return pa.Table.from_pylist(
        [{"source": source, "set": name, "shard": 0, "row": row} for source, name, row in rows]
    )


@pytest.fixture
def sets():
    """A function: the table, from the labels of the images 0, 1, ... of the web."""

    def build(pictures, *, left=()):
        drawn = [("web", "a", row) for row in range(4)] + [("coco", "public", 9)]
        rows = [
            {"position": position, "source": source, "source_title": source.upper(), "set": name}
            | {"set_title": name, "asked": asked}
            for position, (source, name, asked) in enumerate(SETS)
        ]
        objects = [
            {"corpus": "web.drawn", "shard": 0, "row": row, "labels": labels}
            for row, labels in enumerate(pictures)
        ]
        views = {
            "sets": pa.Table.from_pylist(rows),
            "drawn": members(drawn),
            "members": members([row for row in drawn if row not in left]),
            "objects": pa.Table.from_pylist(objects, OBJECTS),
        }
        return report_table("memorization_sets", views, {})

    return build


def test_four_images_match_a_hand_calculation(sets):
    table = sets([[1, 2, 2], [], [2], [7]], left=[("web", "a", 3)])

    first = table.to_pylist()[0]
    assert {name: first[name] for name in ("asked", "allotted", "left_for_overlaps")} == {
        **{"asked": "4", "allotted": 4, "left_for_overlaps": 1},
    }
    # the fourth was removed, with its label 7; a label counts once an image: 2, 0, 1
    assert (first["samples"], first["without_objects"], first["not_annotated"]) == (3, 1, 0)
    assert (first["objects_per_picture"], first["labels"]) == (1.0, 2)


def test_a_set_without_samples_or_annotations_keeps_its_row(sets):
    _, empty, other = sets([[1]] * 4).to_pylist()

    assert (empty["allotted"], empty["samples"], empty["labels"]) == (0, 0, 0)
    assert (other["samples"], other["not_annotated"]) == (1, 1)
    assert other["objects_per_picture"] is None


def test_the_table_prints_one_row_per_source_and_set(sets):
    lines = to_markdown("memorization_sets", sets([[1]] * 4)).splitlines()[4:]

    assert [line.split(" | ")[0].strip("| ") for line in lines] == [
        *("WEB, a", "WEB, public", "COCO, public"),
    ]
