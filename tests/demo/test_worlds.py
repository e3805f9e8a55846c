import hashlib
import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from clipaudit.config.worlds import DigitWorld, GlyphWorld
from clipaudit.demo.worlds import write_shard, write_words
from clipaudit.errors import ConfigError

EVERYTHING = GlyphWorld(
    seed=3,
    side=48,
    classes=12,
    corpora={
        "large": {
            "samples_per_shard": 24,
            "styles": {"photo": 1, "sketch": 1, "r": 2, "a": 1, "v2": 1, "objectnet": 1},
            "objects": (1, 4),
            "near_duplicates": [{"of": "val", "rate": 0.2}],
            "written": {"rate": 0.5, "repeats_caption": 0.5, "parroting": 0.5},
            "repeated_caption_rate": 0.2,
            "tag_letters": 2,
        },
        "val": {"samples_per_shard": 5, "captioned": False, "labelled": True},
    },
)
DIGITS = DigitWorld(
    side=24, corpora={"x": {"samples_per_shard": 12, "scans": (0, 1), "printed": 0.5}}
)
GLYPHS_DIGEST = "236dca13305503605c94ccd2824b0ac7c6cc1a24d6a8c3861ca881237c814b38"
DIGITS_DIGEST = "f08610a5e4c35b919812e17d0537ec3f62a20b929f756e96464391bd1f67bd6d"
WRITE = """
import sys
from pathlib import Path
from pydantic import TypeAdapter
from clipaudit.config.worlds import World
from clipaudit.demo.worlds import write_shard
folder = Path(sys.argv[3])
world = TypeAdapter(World).validate_json(sys.argv[1])
write_shard(world, sys.argv[2], 1, folder / "0.tar", folder / "0.parquet")
"""


def written(world, corpus, shard, folder):
    tar, truth = folder / "0.tar", folder / "0.parquet"
    write_shard(world, corpus, shard, tar, truth)
    return tar.read_bytes(), truth.read_bytes()


def plainest_processor():
    """Environment variables that disable optional instructions in numpy and libm."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    optional = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
    return {
        "NPY_DISABLE_CPU_FEATURES": " ".join(optional),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-SSE4_1",
        "OMP_NUM_THREADS": "2",
        "PYTHONHASHSEED": "77",
    }


def test_one_shard_is_pinned(tmp_path):
    """Another literal here means that every image of the demo has changed."""
    tar, _ = written(EVERYTHING, "large", 1, tmp_path)

    assert hashlib.sha256(tar).hexdigest() == GLYPHS_DIGEST


def test_one_shard_of_digits_is_pinned(tmp_path):
    tar, _ = written(DIGITS, "x", 1, tmp_path)

    assert hashlib.sha256(tar).hexdigest() == DIGITS_DIGEST


@pytest.mark.parametrize(("world", "corpus"), [(EVERYTHING, "large"), (DIGITS, "x")])
def test_bytes_are_the_same_in_another_process_on_a_simpler_processor(tmp_path, world, corpus):
    here = written(world, corpus, 1, tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    command = [sys.executable, "-c", WRITE, world.model_dump_json(), corpus, str(elsewhere)]
    subprocess.run(command, check=True, env={**os.environ, **plainest_processor()})

    files = (elsewhere / "0.tar", elsewhere / "0.parquet")
    assert here == tuple(path.read_bytes() for path in files)


def test_the_bytes_of_a_shard_do_not_depend_on_earlier_drawing(tmp_path):
    alone = written(EVERYTHING, "large", 2, tmp_path)

    for shard in (0, 1):
        written(EVERYTHING, "large", shard, tmp_path)

    assert written(EVERYTHING, "large", 2, tmp_path) == alone


def test_an_added_corpus_changes_no_other_corpus(tmp_path):
    before = written(EVERYTHING, "val", 0, tmp_path)
    more = {**EVERYTHING.model_dump()["corpora"], "further": {}}
    wider = GlyphWorld(**{**EVERYTHING.model_dump(), "corpora": more})

    assert written(wider, "val", 0, tmp_path) == before


def test_shards_differ(tmp_path):
    assert written(EVERYTHING, "val", 0, tmp_path) != written(EVERYTHING, "val", 1, tmp_path)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # webdataset leaves the file open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_webdataset_reads_the_members_listed_in_the_truth(tmp_path):
    import webdataset

    written(EVERYTHING, "large", 0, tmp_path)
    truth = pq.read_table(tmp_path / "0.parquet").to_pylist()

    pipeline = webdataset.WebDataset(str(tmp_path / "0.tar"), shardshuffle=False)
    read = list(pipeline.decode("rgb8"))

    assert [sample["__key__"] for sample in read] == [row["key"] for row in truth]
    assert [sample["txt"] for sample in read] == [row["caption"] for row in truth]
    for sample, row in zip(read, truth, strict=True):
        assert sample["png"].shape == (48, 48, 3)
        assert sample["png"].dtype == np.uint8
        assert sample["json"]["style"] == row["style"]
        assert [thing["category_id"] for thing in sample["json"]["objects"]] == row["labels"]


def test_labels_are_line_numbers_of_the_class_file(tmp_path):
    write_words(EVERYTHING, tmp_path / "classes.txt", tmp_path / "bpe.txt.gz")

    names = (tmp_path / "classes.txt").read_text().splitlines()

    assert len(names) == 12
    assert names[:2] == ["umbrella", "airplane"]


@pytest.mark.parametrize("world", [EVERYTHING, DIGITS])
def test_the_word_files_are_reproducible(tmp_path, world):
    contents = []
    for _ in range(2):
        write_words(world, tmp_path / "classes.txt", tmp_path / "bpe.txt.gz")
        contents.append([path.read_bytes() for path in sorted(tmp_path.iterdir())])

    assert contents[0] == contents[1]


def test_an_unknown_corpus_is_refused_with_a_list_of_known_ones(tmp_path):
    with pytest.raises(ConfigError, match=r"no corpus `larg`, only large, val\. Add it"):
        write_shard(EVERYTHING, "larg", 0, tmp_path / "a.tar", tmp_path / "a.parquet")
