import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from shardzoo import encode, sample, tar_bytes

from clipaudit.corpora.repacking import Collection, other_captions, repack, shard_samples
from clipaudit.corpora.shards import raw_samples
from clipaudit.errors import InputError

SHARDS, ROWS = 4, 90
KEPT = {"even": range(0, ROWS, 2), "few": (3, 4, 5)}  # rows of each shard


def image(shard, row):
    return encode("PNG", color=(shard, row, 0))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Write tars whose captions and images state their address; keys repeat between tars."""
    folder = tmp_path_factory.mktemp("corpus")
    for shard in range(SHARDS):
        members = [
            member
            for row in range(ROWS)
            for member in sample(
                f"{row:05d}", caption=f"{shard} {row}", image=image(shard, row), extension="png"
            )
        ]
        (folder / f"{shard}.tar").write_bytes(tar_bytes(members))
    return [(shard, folder / f"{shard}.tar") for shard in range(SHARDS)]


def addresses(rows, shards=range(SHARDS)):
    pairs = [(shard, row) for shard in shards for row in rows]
    columns = {
        "shard": pa.array([shard for shard, _ in pairs], pa.int32()),
        "row": pa.array([row for _, row in pairs], pa.int32()),
    }
    return pa.table(columns | {"caption": [f"{shard} {row}" for shard, row in pairs]})


def collected(corpus, folder, parts):
    """Collect the corpus in the given number of parts; return each file with its table."""
    found = []
    for number, shards in enumerate(np.array_split(np.arange(SHARDS), parts)):
        own = [corpus[shard] for shard in shards]
        members = {name: addresses(rows, shards.tolist()) for name, rows in KEPT.items()}
        collection = Collection(own, members, addresses(range(ROWS), shards.tolist()))
        path = folder / f"collected-{parts}-{number}"
        path.write_bytes(b"".join(collection.blocks()))
        found.append((path, collection.table()))
    return found


def repacked(corpus, folder, name, *, parts=2, **options):
    """Return the shards of a set by name, and the result of `repack`."""
    files = {}

    def write(shard, blocks):
        content = files[shard] = b"".join(blocks)
        return hashlib.sha256(content).hexdigest()

    those = set_of(collected(corpus, folder, parts), name)
    return files, repack(those, write, seed=1, **options)


def set_of(files, name):
    """Return collected files, each with the places of one set's samples in it."""
    return [(path, table.filter(pc.equal(table["curated"], name))) for path, table in files]


def read(files, folder):
    """Yield the samples of some shards: their keys, images and captions."""
    for name, content in files.items():
        path = folder / name.replace("/", "-")
        path.write_bytes(content)
        yield from raw_samples(path)


@pytest.mark.parametrize(("parts", "workers"), [(1, 1), (2, 3), (4, 2)])
def test_a_repacked_set_is_the_same_for_any_number_of_parts_and_workers(
    corpus, tmp_path, parts, workers
):
    files, found = repacked(corpus, tmp_path, "even", parts=parts, workers=workers, swapped=True)

    other_files, others = repacked(corpus, tmp_path, "even", parts=3, swapped=True)
    assert files == other_files
    assert found.shards == others.shards
    assert found.sources.equals(others.sources)


def test_a_killed_repacking_continues_after_the_shards_already_written(corpus, tmp_path):
    whole, found = repacked(corpus, tmp_path, "even")
    done, taken = {}, []

    def write(shard, blocks):
        if shard not in done:
            if taken == ["shards/00000"]:
                taken.append("killed")
                raise OSError("killed")
            taken.append(shard)
            done[shard] = hashlib.sha256(b"".join(blocks)).hexdigest()
        return done[shard]

    those = set_of(collected(corpus, tmp_path, 2), "even")
    with pytest.raises(OSError, match="killed"):
        repack(those, write, seed=1)
    again = repack(those, write, seed=1)

    assert taken == ["shards/00000", "killed", "shards/00001"]
    assert again.shards == found.shards
    assert list(whole) == list(done)


def test_every_sample_of_a_set_is_repacked_once_with_its_image_and_caption(corpus, tmp_path):
    files, _ = repacked(corpus, tmp_path, "even")

    read_back = list(read(files, tmp_path))
    assert sorted(each.members["txt"].decode() for each in read_back) == sorted(
        f"{shard} {row}" for shard in range(SHARDS) for row in KEPT["even"]
    )
    for each in read_back:
        shard, row = map(int, each.key.split("-"))
        assert each.members["txt"] == f"{shard} {row}".encode()
        assert each.members["png"] == image(shard, row)


def test_the_sources_say_where_each_sample_and_its_caption_come_from(corpus, tmp_path):
    files, found = repacked(corpus, tmp_path, "even", swapped=True)

    for raw, source in zip(read(files, tmp_path), found.sources.to_pylist(), strict=True):
        assert raw.key == f"{source['source_shard']:06d}-{source['source_row']:06d}"
        caption = f"{source['caption_shard']} {source['caption_row']}"
        assert raw.members["txt"] == caption.encode()


def test_shards_are_shuffled_and_limited_in_size(corpus, tmp_path):
    _, found = repacked(corpus, tmp_path, "even")

    assert [shard.rows for shard in found.shards] == [100, 80]
    sources = found.sources["source_shard"].to_numpy()
    assert set(sources[:100]) == set(sources[100:]) == set(range(SHARDS))
    assert max(map(shard_samples, (10**5, 10**8))) == 10_000


def test_swapped_captions_leave_images_in_place_and_no_image_with_its_own(corpus, tmp_path):
    files, _ = repacked(corpus, tmp_path, "few", swapped=True)

    captions = {}
    for raw in read(files, tmp_path):
        shard, row = map(int, raw.key.split("-"))
        assert raw.members["png"] == image(shard, row)
        captions[f"{shard} {row}"] = raw.members["txt"].decode()
    assert sorted(captions) == sorted(captions.values())
    assert all(own != given for own, given in captions.items())


@pytest.mark.parametrize("counts", [[1, 1], [3, 2, 1], [1] * 50, [5, 5], [2] * 9, [4, 1, 2, 1]])
@pytest.mark.parametrize("seed", range(3))
def test_captions_are_swapped_so_that_none_stays_the_same(counts, seed):
    captions = np.repeat(np.arange(len(counts)) * 10**15, counts)
    rows = np.arange(len(captions), dtype=np.int32)

    found = other_captions(np.zeros_like(rows), rows, captions, seed=seed)

    assert sorted(found) == rows.tolist()
    assert (captions[found] != captions).all()


def test_as_few_captions_as_possible_stay_if_most_are_equal():
    captions, rows = np.array([7, 7, 7, 7, 1]), np.arange(5, dtype=np.int32)

    found = other_captions(np.zeros_like(rows), rows, captions, seed=0)

    assert (captions[found] == captions).sum() == 3


def test_other_seeds_swap_differently_and_sample_order_does_not_matter():
    captions, rows = np.arange(40), np.arange(40, dtype=np.int32)
    shards = np.zeros_like(rows)

    one, other = (other_captions(shards, rows, captions, seed=seed) for seed in (0, 1))
    back = other_captions(shards, rows[::-1].copy(), captions[::-1].copy(), seed=0)

    assert (one != other).any()
    assert (39 - back[::-1] == one).all()


def test_changed_images_replace_those_of_the_set(corpus, tmp_path):
    files, _ = repacked(
        corpus, tmp_path, "few", change=lambda address, file: b"%d %d" % (address, len(file))
    )

    for raw in read(files, tmp_path):
        shard, row = map(int, raw.key.split("-"))
        size = len(image(shard, row))
        assert raw.members["png"] == b"%d %d" % (shard << 32 | row, size)
        assert raw.members["txt"] == f"{shard} {row}".encode()


def test_further_images_of_a_changed_sample_are_left_out(tmp_path):
    members = [*sample("a", image=b"first"), *sample("a", image=b"no image", extension="webp")[:1]]
    (tmp_path / "0.tar").write_bytes(tar_bytes(members))
    one = addresses([0], shards=[0])
    collection = Collection([(0, tmp_path / "0.tar")], {"few": one}, one)
    collected = tmp_path / "collected"
    collected.write_bytes(b"".join(collection.blocks()))
    seen, written = [], []

    def change(address, file):
        seen.append(file)
        return b"changed"

    def write(shard, blocks):
        written.append(b"".join(blocks))
        return hashlib.sha256(written[-1]).hexdigest()

    repack([(collected, collection.table())], write, seed=1, change=change)
    ((raw,),) = [list(read({"0.tar": content}, tmp_path)) for content in written]

    assert seen == [b"first"]
    assert raw.members == {"jpg": b"changed", "txt": b"a cat"}


def test_a_set_without_samples_has_no_shards(corpus, tmp_path):
    files, found = repacked(corpus, tmp_path, "none")

    assert (files, found.shards, len(found.sources)) == ({}, [], 0)


def test_a_sample_missing_from_its_tar_is_named(corpus, tmp_path):
    path = tmp_path / "cut.tar"
    path.write_bytes(corpus[0][1].read_bytes()[: 20 * 512])
    collection = Collection(
        [(0, path)], {"all": addresses(range(ROWS), [0])}, addresses(range(ROWS), [0])
    )

    with pytest.raises(InputError, match=r"cut\.tar: row 4: .*Index the shard again"):
        list(collection.blocks())
