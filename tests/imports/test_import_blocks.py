import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.corpora.parts import expand_shards
from clipaudit.errors import ConfigError, InputError
from clipaudit.imports.blocks import Imported, file_patterns, part_size

names = st.builds(
    lambda folder, number, width: f"{folder}{number:0{width}d}.tar",
    st.sampled_from(["a/", "a/b-1-", ""]),
    st.integers(0, 120),
    st.integers(1, 5),
)


@given(st.lists(names, min_size=1, unique=True))
def test_patterns_expand_to_the_files_in_order(paths):
    assert expand_shards(file_patterns(paths)) == paths


def test_a_name_that_is_not_utf_8_is_refused():
    path = os.fsdecode(b"web/\xff.tar")

    with pytest.raises(InputError, match=r"web/\\udcff\.tar: is not UTF-8, so settings cannot"):
        file_patterns([path])


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({"corpora": {"my web": {"shards": "a.tar"}}}, r"corpora\.my web.*: String should match"),
        ({"corpora": {"web": {"of": "a"}}}, r"corpora\.web: a split needs `of` and either"),
    ],
)
def test_a_block_that_the_settings_would_refuse_is_refused(blocks, message):
    with pytest.raises(ConfigError, match=message):
        Imported(blocks)


@pytest.mark.parametrize(
    ("cores", "shards", "samples", "size"),
    [
        (8, 100, 90_000, 12),  # a part for each core
        (64, 10, 3_000, 3),  # parts are not tiny
        (2, 1_000, 10_000_000, 10),  # more parts if one would take hours
        (16, 3, 600_000, 1),  # a part has at least one shard
        (4, 5, 0, 5),
    ],
)
def test_parts_follow_shards_samples_and_cores(monkeypatch, cores, shards, samples, size):
    monkeypatch.setattr("clipaudit.imports.blocks.granted_cores", lambda: cores)

    assert part_size(shards, samples)[0] == size


def test_the_size_of_parts_is_reported(monkeypatch):
    monkeypatch.setattr("clipaudit.imports.blocks.granted_cores", lambda: 2)

    assert part_size(6, 6_000)[1] == (
        "shards_per_part: 3, so 2 parts of some 3,000 samples for 2 cores"
    )
