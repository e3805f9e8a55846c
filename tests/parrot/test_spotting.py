import io
import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from longtexts import long_texts
from PIL import Image
from tinyclip import index, text_shards, without, write_shard

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import CORRUPT_IMAGE, Unusable
from clipaudit.corpora.shards import first_image, raw_samples
from clipaudit.errors import InputError
from clipaudit.parrot import spotting
from clipaudit.parrot.spans import SPANS, Span, spans_of
from clipaudit.parrot.spot_memory import SpotMemory
from clipaudit.parrot.spotting import SPOTTING_FAILED, ManySpotter, spot_text

SQUARE = (0.0, 0.0, 4.0, 0.0, 4.0, 4.0, 0.0, 4.0)


class Mean:
    """Reads an image's mean as its text; fails on images whose mean is in `failing`."""

    recipe = {"spotter": "mean"}  # noqa: RUF012

    def __init__(self, failing=()):
        self.failing = failing
        self.made = 0
        self.seen = []

    def __call__(self):
        self.made += 1
        return self

    def spot(self, pixels):
        text = f"{pixels.mean():.6f}"
        self.seen.append(text)
        if text in self.failing:
            raise Unusable(SPOTTING_FAILED, "odd picture")
        return [Span(text, 1.0, SQUARE)]


@pytest.fixture
def shards(tmp_path):
    return text_shards(tmp_path, [4, 1, 5])


@pytest.fixture
def memory(tmp_path):
    return SpotMemory(tmp_path / "memory")


def spotted(shards, samples, spotter, memory, workers=1):
    drops = Drops("spot")
    tables = list(spot_text(shards, samples, spotter, memory, drops=drops, workers=workers))
    return pa.concat_tables([SPANS.empty_table(), *tables]).combine_chunks(), drops.table()


def means(shards):
    return [
        f"{np.asarray(open_picture(first_image(raw.members)).rgb).mean():.6f}"
        for _, path in shards
        for raw in raw_samples(path)
    ]


def texts(table):
    return [span.text for spans in spans_of(table) for span in spans]


def png(value):
    out = io.BytesIO()
    Image.fromarray(np.full((8, 8, 3), value, np.uint8)).save(out, "PNG")
    return {"png": out.getvalue(), "txt": b"a"}


def test_every_image_is_spotted_in_order(shards, memory):
    samples, spotter = index(shards), Mean()

    table, drops = spotted(shards, samples, spotter, memory)

    assert table.select(["shard", "row"]).equals(samples.select(["shard", "row"]))
    assert texts(table) == means(shards)
    assert spotter.made == 1
    assert len(drops) == 0


def test_remembered_images_are_neither_read_nor_spotted(shards, memory):
    samples = index(shards)
    table, _ = spotted(shards, samples, Mean(), memory)
    for _, path in shards:
        path.write_bytes(b"")
    idle = Mean()

    again, _ = spotted(shards, samples, idle, SpotMemory(memory.folder))

    assert again.equals(table)
    assert idle.made == 0


def test_only_new_images_are_spotted(shards, memory):
    samples, spotter = index(shards), Mean()
    spotted(shards, without(samples, (0, 2), (2, 4)), Mean(), memory)

    table, _ = spotted(shards, samples, spotter, SpotMemory(memory.folder))

    assert texts(table) == means(shards)
    assert spotter.seen == [means(shards)[at] for at in (2, 9)]


def damage_texts(memory):
    (file,) = memory.folder.glob("*.parquet")
    content = bytearray(file.read_bytes())
    column = pq.read_metadata(file).row_group(0).column(1)  # the column of digests is intact
    content[column.data_page_offset + column.total_compressed_size - 5] ^= 255
    file.unlink()
    file.write_bytes(content)


def test_images_of_a_damaged_memory_are_read_in_one_pass(shards, memory, monkeypatch):
    samples, spotter = index(shards), Mean()
    table, _ = spotted(shards, samples, Mean(), memory)
    damage_texts(memory)
    walked = []
    monkeypatch.setattr(spotting, "raw_samples", lambda *a: walked.append(a) or raw_samples(*a))

    again, _ = spotted(shards, samples, spotter, SpotMemory(memory.folder))

    assert again.equals(table)
    assert (spotter.made, len(walked)) == (1, len(shards))


def test_a_damaged_memory_loads_no_spotter_before_processes_fork(shards, memory, monkeypatch):
    samples, spotter = index(shards), Mean()
    spotted(shards, samples.slice(0, 1), Mean(), memory)
    damage_texts(memory)
    monkeypatch.setattr(spotting, "WORTH_A_PROCESS", 1)

    table, _ = spotted(shards, samples, spotter, SpotMemory(memory.folder), workers=2)

    assert texts(table) == means(shards)
    assert spotter.made == 0, "made in this process"


def test_images_are_spotted_beside_more_text_than_an_array_holds(shards, memory):
    samples = index(shards)
    at = samples.column_names.index("metadata")
    samples = samples.set_column(at, "metadata", long_texts(len(samples)))

    table, _ = spotted(shards, samples, Mean(), memory)

    assert texts(table) == means(shards)


def test_equal_images_are_spotted_once(tmp_path, memory):
    values = [[5, 6, 5], [6, 5, 7]]
    shards = [
        (at, write_shard(tmp_path / f"{at}.tar", [png(value) for value in part]))
        for at, part in enumerate(values)
    ]
    spotter = Mean()

    table, _ = spotted(shards, index(shards), spotter, memory)

    assert texts(table) == [f"{value}.000000" for part in values for value in part]
    assert spotter.seen == ["5.000000", "6.000000", "7.000000"]


def test_parts_and_memory_do_not_change_the_result(shards, memory, tmp_path):
    samples = index(shards)
    whole, _ = spotted(shards, samples, Mean(), memory)

    other = SpotMemory(tmp_path / "other")
    parts = [
        spotted([shards[at]], samples.filter(pa.compute.equal(samples["shard"], at)), Mean(), other)
        for at in range(3)
    ]

    assert pa.concat_tables([table for table, _ in parts]).combine_chunks().equals(whole)


def test_images_on_which_the_spotter_fails_are_dropped(shards, memory):
    samples = index(shards)
    failing = [means(shards)[at] for at in (1, 4)]

    table, drops = spotted(shards, samples, Mean(failing), memory)

    assert table.num_rows + len(drops) == len(samples)
    assert [(d["shard"], d["row"]) for d in drops.to_pylist()] == [(0, 1), (1, 0)]
    assert set(drops["reason"].to_pylist()) == {SPOTTING_FAILED}
    assert set(drops["detail"].to_pylist()) == {"odd picture"}


def test_failures_are_not_remembered(shards, memory):
    samples = index(shards)
    spotted(shards, samples, Mean(means(shards)[:1]), memory)

    table, drops = spotted(shards, samples, Mean(), SpotMemory(memory.folder))

    assert texts(table) == means(shards)
    assert len(drops) == 0


def test_images_that_cannot_be_decoded_are_dropped(shards, memory, monkeypatch):
    def refuse(data):
        raise Unusable(CORRUPT_IMAGE, "cut")

    monkeypatch.setattr("clipaudit.parrot.spotting.open_picture", refuse)

    table, drops = spotted(shards, index(shards), Mean(), memory)

    assert table.num_rows == 0
    assert drops["reason"].to_pylist() == [CORRUPT_IMAGE] * 10


def test_spotted_text_survives_a_crash(shards, memory):
    class Crash(Mean):
        def spot(self, pixels):
            if len(self.seen) == 6:
                raise KeyboardInterrupt
            return super().spot(pixels)

    with pytest.raises(KeyboardInterrupt):
        spotted(shards, index(shards), Crash(), memory)

    known, digests = SpotMemory(memory.folder), set(index(shards)["image_sha256"].to_pylist())
    assert len(known.read(known.locate(digests))) == 6


def test_a_shard_changed_after_indexing_is_refused(shards, memory):
    samples = index(shards)
    write_shard(shards[1][1], [png(3)])

    with pytest.raises(InputError, match=r"00001.tar, row 0: the image is .* index it again"):
        spotted(shards, samples, Mean(), memory)


def test_a_shard_with_missing_samples_is_refused(shards, memory):
    samples = index(shards)
    write_shard(shards[1][1], [])

    with pytest.raises(InputError, match="1 samples of it that are not all in the file"):
        spotted(shards, samples, Mean(), memory)


def test_the_log_states_rate_and_shares(shards, memory, caplog):
    samples = index(shards)
    spotted(shards, without(samples, (2, 4)), Mean(), memory)

    with caplog.at_level(logging.INFO):
        spotted(shards, samples, Mean(), SpotMemory(memory.folder))

    assert "spotting text: 10 of 10 images" in caplog.text
    assert "9 known before" in caplog.text
    assert "0 of 10 images show no text, 9 were known" in caplog.text


def test_no_samples_give_no_tables(shards, memory):
    table, drops = spotted(shards, index(shards).slice(0, 0), Mean(), memory)

    assert (table.num_rows, len(drops)) == (0, 0)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core
def test_several_processes_give_the_same_result_as_one(tmp_path):
    shards = text_shards(tmp_path, [70, 71])
    samples, failing = index(shards), means(shards)[90]

    tables = [
        list(
            spot_text(
                shards,
                samples,
                Mean([failing]),
                SpotMemory(tmp_path / f"memory{workers}"),
                drops=Drops("spot"),
                workers=workers,
            )
        )
        for workers in (1, 2)
    ]

    assert tables[0] == tables[1]
    assert sum(map(len, tables[1])) == 140


class Together(Mean, ManySpotter):
    """The same, for several images at once; `groups` has the size of each group."""

    def __init__(self, together, failing=()):
        super().__init__(failing)
        self.together, self.groups = together, []

    def spot_all(self, pictures):
        self.groups.append(len(pictures))
        found = []
        for pixels in pictures:
            try:
                found.append(self.spot(pixels))
            except Unusable as error:
                found.append(error)
        return found


def test_a_spotter_of_many_images_gets_them_in_groups_of_a_shard(shards, memory, tmp_path):
    samples = index(shards)
    alone = spotted(shards, samples, Mean(failing=means(shards)[2:3]), memory)
    spotter = Together(2, failing=means(shards)[2:3])

    found = spotted(shards, samples, spotter, SpotMemory(tmp_path / "other"))

    assert found == alone
    assert spotter.groups == [2, 2, 1, 2, 2, 1]


def test_large_images_come_in_smaller_groups(shards, memory, monkeypatch):
    monkeypatch.setattr(spotting, "MOST_NUMBERS", 1)
    spotter = Together(9)

    spotted(shards, index(shards), spotter, memory)

    assert spotter.groups == [1] * 10
