import gzip
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shardzoo import member, sample, tar_bytes

from clipaudit.corpora.scattered import Scattered
from clipaudit.corpora.shards import raw_samples
from clipaudit.errors import InputError

LONG = "long/" + 60 * "name/"  # too long for a header, so it starts with its own block


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Write a tar of samples, a non-sample file, a folder, a repeated name and a long one."""
    path = tmp_path_factory.mktemp("scattered") / "0.tar"
    members = [
        *sample("a", caption="one"),
        member("README"),
        *sample("b", caption=None),
        *sample(f"{LONG}c", caption="three", url="https://c"),
        *sample("a", caption="again"),
        *sample("d", caption=300 * "five "),
    ]
    path.write_bytes(tar_bytes(members, tarfile.PAX_FORMAT))
    return path


@given(rows=st.lists(st.integers(0, 4)))
def test_samples_read_in_any_order_equal_those_read_in_sequence(path, rows):
    in_order = list(raw_samples(path))
    scattered = Scattered(path)

    for row in rows:
        found = scattered.sample(row)

        assert (found.row, found.key) == (row, in_order[row].key)
        assert in_order[row].fault or found == in_order[row]


def test_a_row_beyond_the_end_is_named(path):
    with pytest.raises(InputError, match=r"0\.tar: has 5 rows, but row 5 is requested"):
        Scattered(path).sample(5)


def test_a_compressed_tar_cannot_be_read_in_any_order(path, tmp_path):
    packed = tmp_path / "packed.tar"
    packed.write_bytes(gzip.compress(path.read_bytes()))

    with pytest.raises(InputError, match=r"packed\.tar: is not a plain tar .* `shuffle: shards`"):
        Scattered(packed)


def test_a_list_of_images_is_not_a_tar(tmp_path):
    (tmp_path / "0.images").write_text("{}")

    with pytest.raises(InputError, match=r"0\.images: is not a plain tar"):
        Scattered(tmp_path / "0.images")


def test_a_missing_tar_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.tar: reading failed"):
        Scattered(tmp_path / "gone.tar")
