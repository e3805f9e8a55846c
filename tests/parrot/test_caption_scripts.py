import pyarrow as pa

from clipaudit.parrot.caption_scripts import (
    CAPTION_SCRIPTS,
    caption_scripts,
    counted_scripts,
)


def captioned(*rows):
    shards, captions = zip(*rows, strict=True)
    return pa.table({"shard": pa.array(shards, pa.int32()), "caption": pa.array(captions)})


def test_letters_are_counted_by_script():
    table = caption_scripts([captioned((0, "a red café, 50 %"), (0, None), (1, "мир 米 ab"))])

    assert table.schema == CAPTION_SCRIPTS
    assert table.to_pylist() == [
        {"script": "Latin", "letters": 10, "share": 10 / 14},
        {"script": "Cyrillic", "letters": 3, "share": 3 / 14},
        {"script": "Han", "letters": 1, "share": 1 / 14},
    ]


def test_the_first_captions_of_each_shard_count_for_any_split_into_tables():
    rows = [(0, "a"), (0, None), (0, "b"), (0, "语"), (3, "c"), (3, "語"), (3, "d")]

    together = caption_scripts([captioned(*rows)], captions=2)

    assert together.equals(
        caption_scripts([captioned(*rows[:4]), captioned(*rows[4:])], captions=2)
    )
    assert together["letters"].to_pylist() == [3, 1]


def test_scripts_of_a_few_letters_do_not_count():
    many = captioned(*[(0, "a" * 990)], (0, "м" * 10), (0, "米" * 9))

    assert counted_scripts(caption_scripts([many])) == ("Latin",)


def test_captions_without_letters_have_no_script():
    assert counted_scripts(caption_scripts([captioned((0, "12"), (0, None))])) == ()
    assert len(caption_scripts([])) == 0


def test_a_part_without_samples_adds_no_letters():
    rows = captioned((0, "ab"))

    assert caption_scripts([rows[:0], rows]).equals(caption_scripts([rows]))
