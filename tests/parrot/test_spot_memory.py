import hashlib
import logging
import multiprocessing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.parrot.spans import Span, Word
from clipaudit.parrot.spot_memory import SpotMemory, memory_folder

SQUARE = (0.0, 0.0, 4.0, 0.0, 4.0, 4.0, 0.0, 4.0)


def digest(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def spans(number):
    words = None if number % 2 else (Word(str(number), SQUARE),)
    return [Span(str(number), 0.5, SQUARE, words)] * (number % 3)


def remember(folder, numbers, held=1000):
    memory = SpotMemory(folder, held=held)
    for number in numbers:
        memory.add(digest(number), spans(number))
    return memory


def find(folder, digests):
    memory = SpotMemory(folder)
    return memory.read(memory.locate(digests))


def files(folder):
    return sorted(folder.glob("*"))


def expected(numbers):
    return {digest(number): spans(number) for number in numbers}


def test_stored_spans_are_found_by_another_process(tmp_path):
    remember(tmp_path, range(10)).flush()

    found = find(tmp_path, {digest(number) for number in range(5, 15)})

    assert found == expected(range(5, 10))


def test_many_row_groups_are_read_correctly(tmp_path, monkeypatch):
    monkeypatch.setattr("clipaudit.parrot.spot_memory._GROUP_ROWS", 4)
    remember(tmp_path, range(50)).flush()

    found = find(tmp_path, {digest(number) for number in range(0, 50, 7)})

    assert found == expected(range(0, 50, 7))


def test_an_empty_or_missing_folder_has_no_entries(tmp_path):
    assert find(tmp_path / "absent", {digest(0)}) == {}
    assert find(tmp_path, set()) == {}


def test_without_entries_no_file_is_written(tmp_path):
    SpotMemory(tmp_path / "folder").settle()

    assert files(tmp_path) == []


def test_images_are_written_to_disk_before_the_end(tmp_path):
    remember(tmp_path, range(10), held=4)  # killed before it flushes

    found = find(tmp_path, set(expected(range(10))))

    assert found == expected(range(8))


def test_a_finished_job_leaves_one_file(tmp_path):
    memory = remember(tmp_path, range(10), held=3)
    places = SpotMemory(tmp_path).locate(set(expected(range(10))))

    memory.settle()

    assert len(files(tmp_path)) == 1
    assert find(tmp_path, set(expected(range(10)))) == expected(range(10))
    assert SpotMemory(tmp_path).read(places) == {}, "a reader of joined files spots again"


def test_settling_keeps_the_files_of_other_jobs(tmp_path):
    remember(tmp_path, range(5)).flush()

    remember(tmp_path, range(5, 10), held=2).settle()

    assert len(files(tmp_path)) == 2
    assert find(tmp_path, set(expected(range(10)))) == expected(range(10))


def test_files_depend_only_on_their_content(tmp_path):
    remember(tmp_path / "one", range(10)).settle()
    remember(tmp_path / "two", reversed(range(10)), held=3).settle()

    one, two = files(tmp_path / "one"), files(tmp_path / "two")

    assert [path.name for path in one] == [path.name for path in two]
    assert hashlib.sha256(one[0].read_bytes()).hexdigest() == one[0].stem


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other columns"])
def test_a_damaged_file_is_named_and_kept(tmp_path, caplog, damage):
    remember(tmp_path, range(9)).flush()
    good = files(tmp_path)
    remember(tmp_path, range(9, 20)).flush()
    (bad,) = set(files(tmp_path)) - set(good)
    bad.chmod(0o644)
    content = bytearray(bad.read_bytes())
    if damage == "flipped":
        column = pq.read_metadata(bad).row_group(0).column(0)
        content[column.data_page_offset + column.total_compressed_size - 5] ^= 255
        bad.write_bytes(content)
    elif damage == "other columns":
        pq.write_table(pa.table({"image_sha256": ["a"]}), bad)
    else:
        bad.write_bytes(content[: 300 if damage == "cut" else 0])

    with caplog.at_level(logging.WARNING):
        found = find(tmp_path, set(expected(range(20))))

    assert found == expected(range(9))
    assert f"{bad}: cannot be read" in caplog.text
    assert bad.exists()


def damage_spans(file):
    content = bytearray(file.read_bytes())
    column = pq.read_metadata(file).row_group(0).column(1)  # the column of digests is intact
    content[column.data_page_offset + column.total_compressed_size - 5] ^= 255
    file.unlink()
    file.write_bytes(content)


def test_an_image_of_a_damaged_file_is_found_in_a_later_one(tmp_path):
    remember(tmp_path, range(9)).flush()
    (bad,) = files(tmp_path)
    damage_spans(bad)
    bad.rename(tmp_path / f"{'0' * 64}.parquet")  # the first by name
    assert find(tmp_path, set(expected(range(9)))) == {}

    remember(tmp_path, range(12)).flush()

    assert find(tmp_path, set(expected(range(9)))) == expected(range(9))


def test_an_image_of_a_file_damaged_after_its_check_is_found_in_another(tmp_path):
    remember(tmp_path, range(9)).flush()
    remember(tmp_path, range(12)).flush()
    memory, digests = SpotMemory(tmp_path), set(expected(range(9)))
    places = memory.locate(digests)
    damage_spans(next(path for path, _ in places.values()))

    assert memory.read(places) == {}
    assert memory.read(memory.locate(digests)) == expected(range(9))


def test_unfinished_files_of_a_killed_job_are_not_read(tmp_path):
    (tmp_path / "x.unfinished").write_bytes(b"PAR1")

    assert find(tmp_path, {digest(0)}) == {}


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def full(path, *rest):
        raise OSError("disk full")

    monkeypatch.setattr("clipaudit.parrot.spot_memory.os.replace", full)

    with pytest.raises(OSError, match="disk full"):
        remember(tmp_path, range(3)).flush()

    assert files(tmp_path) == []


def write_some(folder, first):
    remember(Path(folder), range(first, first + 40), held=7).settle()


def test_concurrent_writers_are_harmless(tmp_path):
    context = multiprocessing.get_context("spawn")
    jobs = [context.Process(target=write_some, args=(str(tmp_path), at)) for at in (0, 0, 20)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()

    assert [job.exitcode for job in jobs] == [0, 0, 0]
    assert find(tmp_path, set(expected(range(70)))) == expected(range(60))


def test_the_folder_follows_the_recipe(tmp_path):
    one = memory_folder(tmp_path, {"a": 1, "b": "x"})

    assert one == memory_folder(tmp_path, {"b": "x", "a": 1})
    assert one != memory_folder(tmp_path, {"a": 2, "b": "x"})
