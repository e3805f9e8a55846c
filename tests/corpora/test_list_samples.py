import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.drops import Drops
from clipaudit.corpora.listing import LISTED, list_samples, rows_in_file
from clipaudit.corpora.samples import SAMPLES, sample_uid
from clipaudit.errors import InputError

COLUMNS = {"key": "key", "uid": None, "caption": None, "url": None, "label": None, "fields": []}
TEXT = Captioning("text")
UID = "0123456789ABCDEF0123456789abcdef"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("listed")


def listed(folder, *files, captioning=TEXT, needs_caption=False, needs_label=False, **columns):
    """List files, each given by its columns; return samples and drops as rows."""
    paths = []
    for number, content in enumerate(files):
        paths.append((number, folder / f"{number}.parquet"))
        pq.write_table(pa.table(content), paths[-1][1], row_group_size=2)
    drops = Drops("index")
    tables = list_samples(
        paths,
        {**COLUMNS, **columns},
        captioning,
        needs_caption=needs_caption,
        needs_label=needs_label,
        drops=drops,
    )
    samples = pa.concat_tables([LISTED.empty_table(), *tables])
    return samples.to_pylist(), drops.table().to_pylist()


def test_a_row_is_a_sample_without_image_fields(folder):
    content = {"path": ["a/0"], "hash": [UID], "text": ["a cat"], "link": ["http://x"], "n": [7]}
    content |= {"NSFW": ["NO"], "similarity": [float("nan")]}

    samples, drops = listed(
        folder,
        content,
        key="path",
        uid="hash",
        caption="text",
        url="link",
        label="n",
        fields=["NSFW", "similarity"],
    )

    nothing = dict.fromkeys(("image_sha256", "image_format", "width", "height", "image_bytes"))
    assert samples == [
        nothing
        | {"shard": 0, "row": 0, "key": "a/0", "uid": UID.lower(), "caption": "a cat", "label": 7}
        | {"metadata": json.dumps({"url": "http://x", "NSFW": "NO"})}
    ]
    assert drops == []


def test_listed_samples_have_the_columns_of_indexed_ones():
    assert LISTED.names == SAMPLES.names
    assert LISTED.types == SAMPLES.types


texts = st.none() | st.sampled_from(["", "a", "b", "c\x1b"])
rows = st.lists(st.tuples(texts, texts, st.none() | st.integers(-1, 2)), max_size=7)


@given(files=st.lists(rows, max_size=2), needed=st.booleans())
def test_every_row_is_a_sample_or_a_drop(folder, files, needed):
    types = {"key": pa.string(), "caption": pa.string(), "label": pa.int64()}
    contents = [
        {
            name: pa.array([row[place] for row in file], kind)
            for place, (name, kind) in enumerate(types.items())
        }
        for file in files
    ]
    captioning = Captioning("text", classes=("cat", "dog"))

    samples, drops = listed(
        folder,
        *contents,
        captioning=captioning,
        needs_caption=needed,
        needs_label=needed,
        caption="caption",
        label="label",
    )

    found = sorted((row["shard"], row["row"]) for row in samples + drops)
    assert found == [(shard, row) for shard, file in enumerate(files) for row in range(len(file))]
    kept = [(row["shard"], row["key"]) for row in samples]
    assert len(set(kept)) == len(kept)


def test_rows_that_are_not_samples_give_the_reason(folder):
    keys = ["a", None, "a", "b", "c", "d"]
    content = {"key": keys, "caption": ["x", "x", "x", " ", "x", "x"]}
    content |= {"label": [1.0, 1.0, 1.0, 1.0, None, 9.0]}

    samples, drops = listed(
        folder,
        content,
        captioning=Captioning("text", classes=("cat", "dog")),
        needs_caption=True,
        needs_label=True,
        caption="caption",
        label="label",
    )

    assert [(row["row"], row["label"]) for row in samples] == [(0, 1)]
    assert [(row["row"], row["key"], row["reason"], row["detail"]) for row in drops] == [
        (1, "", "no key", ""),
        (2, "a", "duplicate key", "first in row 0"),
        (3, "b", "no caption", ""),
        (4, "c", "no label", ""),
        (5, "d", "unknown class", "9 is outside 0 to 1"),
    ]


def test_a_key_may_occur_in_two_files(folder):
    samples, drops = listed(folder, {"key": ["a"]}, {"key": [5]})

    assert [(row["shard"], row["key"]) for row in samples] == [(0, "a"), (1, "5")]
    assert drops == []


def test_the_uid_is_stated_or_derived_from_caption_and_url_or_key(folder):
    content = {"key": ["a", "b", "c"], "uid": [UID, "0x12", None], "caption": ["x", "x", "y"]}
    content["url"] = ["http://1", "http://2", None]

    samples, _ = listed(folder, content, uid="uid", caption="caption", url="url")

    assert [row["uid"] for row in samples] == [
        UID.lower(),
        sample_uid(b"http://2", "x"),
        sample_uid(b"c", "y"),
    ]


def test_uids_are_keys_if_there_is_no_column_of_keys(folder):
    samples, drops = listed(folder, {"uid": [UID, None]}, key=None, uid="uid")

    assert [row["key"] for row in samples] == [UID]
    assert [row["reason"] for row in drops] == ["no key"]


def test_the_first_of_a_list_of_captions_is_the_caption_of_the_sample(folder):
    content = {"key": ["a"], "texts": [["a cat", "a red cat"]]}

    samples, _ = listed(folder, content, captioning=Captioning("texts"), caption="texts")

    assert samples[0]["caption"] == "a cat"


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_bytes_are_texts(folder, kind):
    caption = "größe".encode()
    one = {"key": ["a"], "text": pa.array([caption], kind), "n": pa.array([b"7"], kind)}
    several = {"key": ["a"], "texts": pa.array([[caption, b"a cat"]], pa.list_(kind))}

    samples, _ = listed(folder, one, caption="text", label="n")
    (first,), _ = listed(folder, several, captioning=Captioning("texts"), caption="texts")

    assert [(row["caption"], row["label"]) for row in samples] == [("größe", 7)]
    assert first["caption"] == "größe"


def test_bytes_that_are_no_text_are_refused(folder):
    with pytest.raises(InputError, match=r"column 'text' of type binary is not text"):
        listed(folder, {"key": ["a"], "text": [b"\xff"]}, caption="text")


def test_a_missing_column_is_refused(folder):
    with pytest.raises(InputError, match=r"0.parquet: no column 'url', but key\. Name one of them"):
        listed(folder, {"key": ["a"]}, url="url")


def test_a_column_without_texts_is_refused(folder):
    with pytest.raises(InputError, match=r"column 'key' of type list<.*> is not text"):
        listed(folder, {"key": [["a"]]})


def test_a_file_that_is_not_parquet_is_refused(folder):
    path = folder / "page.parquet"
    path.write_text("<html>")

    with pytest.raises(InputError, match=r"page\.parquet: cannot be read as Parquet"):
        rows_in_file(path)


def test_the_papers_debiased_subset_is_listed_by_its_columns(folder):
    content = {"SAMPLE_ID": [7, 8, 7], "URL": ["x", "y", "z"], "TEXT": ["a", "b", "c"]}
    content |= {
        "similarity": [0.31, 0.32, 0.33],
        "ase_scores": [5.0, None, 4.6],
        "kmeans": [1, 2, 3],
    }
    fields = ["similarity", "ase_scores", "kmeans"]

    samples, drops = listed(
        folder, content, key="SAMPLE_ID", url="URL", caption="TEXT", fields=fields
    )

    assert [(each["key"], each["caption"]) for each in samples] == [("7", "a"), ("8", "b")]
    assert json.loads(samples[1]["metadata"]) == {"url": "y", "similarity": 0.32, "kmeans": 2}
    assert [each["reason"] for each in drops] == ["duplicate key"]
