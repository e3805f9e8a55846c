import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shardzoo import encode, member, sample, tar_bytes

from clipaudit.corpora.lookup import PictureReader, read_pictures, rows_of_shards
from clipaudit.errors import InputError

RED, BLUE = encode("PNG", color=(200, 0, 0)), encode("PNG", color=(0, 0, 200))


def address(shard, row):
    return shard << 32 | row


def read_twice(paths, addresses):
    """Return what a reader that keeps positions returns when it is asked again."""
    read = PictureReader(paths)
    read(addresses)
    return read(addresses)


both_ways = pytest.mark.parametrize("read", [read_pictures, read_twice])


@both_ways
def test_images_are_read_by_address_from_their_own_shards(shard, read):
    first = shard(sample("a", image=RED) + sample("b") + sample("c", image=BLUE), "0.tar")
    second = shard(sample("d") + sample("e", image=RED), "1.tar")

    asked = [address(1, 1), address(0, 2), address(0, 0), address(0, 2)]
    found = read({0: first, 1: second}, asked)

    assert found == {address(0, 0): RED, address(0, 2): BLUE, address(1, 1): RED}


def test_a_reader_reads_the_headers_of_a_tar_once(shard):
    path = shard(sample("a", image=RED) + sample("b", image=BLUE))
    read = PictureReader({0: path})
    read([address(0, 0)])
    with path.open("r+b") as file:
        file.write(b"no header")

    assert read([address(0, 1)]) == {address(0, 1): BLUE}


def test_a_reader_reads_a_compressed_tar_in_order(shard):
    packed = shard(gzip.compress(tar_bytes(sample("a", image=RED) + sample("b", image=BLUE))))

    assert read_twice({0: packed}, [address(0, 1)]) == {address(0, 1): BLUE}


def test_a_tar_is_not_read_beyond_the_last_requested_row(shard):
    whole = tar_bytes(sample("a", image=RED) + sample("b", image=BLUE) + sample("c"))
    cut = shard(whole[: whole.index(b"c.jpg") + 520])  # within its image

    assert read_pictures({0: cut}, [address(0, 1)]) == {address(0, 1): BLUE}


def test_a_damaged_image_that_is_not_requested_does_not_matter(shard):
    path = shard([*sample("a", image=RED), member("b.jpg", b"no picture"), *sample("c")])

    assert read_pictures({0: path}, [address(0, 0)]) == {address(0, 0): RED}
    assert read_pictures({0: path}, [address(0, 1)]) == {address(0, 1): b"no picture"}


@both_ways
def test_shards_without_requested_samples_are_not_opened(shard, tmp_path, read):
    paths = {0: tmp_path / "gone.tar", 1: shard(sample("a", image=RED))}

    assert read(paths, [address(1, 0)]) == {address(1, 0): RED}
    assert read(paths, []) == {}


def test_a_row_beyond_the_end_is_named(shard):
    path = shard(sample("a"))

    with pytest.raises(InputError, match=r"00000\.tar: no row 3: .* Restore the shard"):
        read_pictures({0: path}, [address(0, 0), address(0, 3), address(0, 4)])


@both_ways
def test_a_row_without_a_usable_image_is_named(shard, read):
    text = shard([*sample("a"), member("b.txt", b"words")])
    twice = shard([member("a.jpg", RED), member("a.jpg", RED)], "twice.tar")

    with pytest.raises(InputError, match=r"00000\.tar: row 1 cannot be shown: no image"):
        read({0: text}, [address(0, 1)])
    with pytest.raises(InputError, match=r"twice\.tar: row 0 cannot be shown: two \.jpg"):
        read({0: twice}, [address(0, 0)])


def test_an_address_outside_the_shards_is_named(shard):
    with pytest.raises(InputError, match=r"shard 7: .* only 1 shards"):
        read_pictures({0: shard(sample("a"))}, [address(7, 0)])


def test_only_row_groups_of_the_requested_shards_are_read(tmp_path):
    def write(name, shards):
        table = pa.table({"row": range(len(shards)), "shard": pa.array(shards, pa.int32())})
        pq.write_table(table, tmp_path / name, row_group_size=2)
        return tmp_path / name

    paths = [write("0.parquet", [0, 0, 1, 3, 4, 4]), write("1.parquet", [5, 5, 6])]

    def asked(*shards):
        return [table["shard"].to_pylist() for table in rows_of_shards(paths, shards)]

    assert asked(0, 6) == [[0, 0], [6]]
    assert asked(2) == [[1, 3]]  # within the bounds of the group's statistics
    assert asked(9) == asked() == []
