import hashlib
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.sealed import CorpusToSeal, Sealed, ShardToSeal, seal
from clipaudit.errors import InputError, StoreError, TooSmall
from clipaudit.store.store import Store

TEXT = Captioning("text")
PHOTO = Captioning("class", "a photo of a {}", ("cat", "größe"))


def shard(flags, digest="ab" * 32):
    bits = sum(1 << row for row, kept in enumerate(flags) if kept)
    return ShardToSeal(digest, len(flags), bits.to_bytes((len(flags) + 7) // 8, "little"))


TWO = [
    CorpusToSeal("large", TEXT, [shard([1, 0, 1]), shard([0] * 9, "cd" * 32)]),
    CorpusToSeal("small", PHOTO, [shard([0, 1])]),
]


@pytest.fixture
def sealed(tmp_path):
    def write(corpora):
        path = tmp_path / "sealed"
        path.write_bytes(corpora if isinstance(corpora, bytes) else seal(corpora))
        return Sealed(path)

    return write


def test_shards_are_numbered_over_all_corpora(sealed):
    manifest = sealed(TWO)

    assert (manifest.shards, manifest.kept) == (3, 3)
    assert [s.corpus for s in manifest] == ["large", "large", "small"]
    assert [s.captioning for s in manifest] == [TEXT, TEXT, PHOTO]
    assert [(s.number, s.sha256[:2], s.rows, s.kept) for s in manifest] == [
        (0, "ab", 3, 2),
        (1, "cd", 9, 0),
        (2, "ab", 2, 1),
    ]
    assert [(c.name, c.shards) for c in manifest.corpora] == [("large", 2), ("small", 1)]


@given(st.lists(st.lists(st.booleans(), max_size=40), max_size=4))
def test_kept_rows_survive_a_round_trip(tmp_path_factory, flags):
    path = tmp_path_factory.mktemp("sealed") / "x"
    path.write_bytes(seal([CorpusToSeal("c", TEXT, [shard(f) for f in flags])]))

    manifest = Sealed(path)

    assert [[s.keeps(row) for row in range(s.rows)] for s in manifest] == flags
    assert manifest.kept == sum(map(sum, flags))
    assert not any(s.keeps(s.rows) for s in manifest)


def test_the_format_is_stable():
    """A changed literal here means that older sealed manifests cannot be read."""
    digest = hashlib.sha256(seal(TWO)).hexdigest()

    assert digest == "980019520d49c2d49d397b8020b13e1bf1bc310ac483c6a6613845f411a2409f"


def test_manifests_can_be_sent_to_worker_processes(sealed):
    manifest = sealed(TWO)

    assert pickle.loads(pickle.dumps(manifest)).shard(2) == manifest.shard(2)


@pytest.mark.parametrize("number", [-1, 3])
def test_shard_numbers_are_checked(sealed, number):
    with pytest.raises(InputError, match=f"shard {number} of a manifest of 3: .*from 0 to 2"):
        sealed(TWO).shard(number)


@pytest.mark.parametrize("corpora", [[], [CorpusToSeal("large", TEXT, [shard([0, 0])])]])
def test_an_empty_manifest_stops_a_trainer(sealed, corpora):
    with pytest.raises(TooSmall, match=r"^the manifest keeps none of .* (large|no corpus)"):
        sealed(corpora).require_samples()


def test_a_manifest_with_samples_does_not_stop_a_trainer(sealed):
    manifest = sealed(TWO)

    manifest.require_samples()

    assert manifest.kept > 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a sealed manifest"),
        (b"PAR1" * 100, "not a sealed manifest"),
        (seal(TWO)[:-1], r"\d+ bytes, but its header says \d+"),
        (seal(TWO) + b"x", "bytes, but its header says"),
        (b"clipseal\x09" + seal(TWO)[9:], "format 9, but this clipaudit reads 1"),
    ],
)
def test_other_files_are_refused(sealed, content, message):
    with pytest.raises(StoreError, match=message):
        sealed(content)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"cannot be read .*No such file"):
        Sealed(tmp_path / "none")


def test_bitmaps_fit_their_rows():
    with pytest.raises(AssertionError, match="one bit for each row"):
        seal([CorpusToSeal("c", TEXT, [ShardToSeal("00" * 32, 9, b"\0")])])
    with pytest.raises(AssertionError, match="beyond the last"):
        seal([CorpusToSeal("c", TEXT, [ShardToSeal("00" * 32, 3, b"\x08")])])


def test_a_left_out_manifest_gives_the_reason(tmp_path):
    store = Store(tmp_path)
    pointer = store.put_reason(TooSmall("3 samples, and 4 are asked for"))

    with pytest.raises(TooSmall, match="was left out: 3 samples, and 4 are asked for"):
        Sealed(store.path(pointer.digest))
