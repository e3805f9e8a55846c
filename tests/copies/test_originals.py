import numpy as np
import pyarrow.parquet as pq
from drawnimages import drawing, png, write_shard

from clipaudit.copies.calibrating import make_copies, plan_copies
from clipaudit.copies.originals import read_originals
from clipaudit.store.actions import LabelledFile


def test_another_name_of_a_corpus_changes_no_original_and_no_copy(tmp_path):
    samples = write_shard(tmp_path / "0.tar", [png(drawing(seed)) for seed in range(4)])
    pq.write_table(samples, tmp_path / "0.parquet")

    def copies(name):
        file = LabelledFile(tmp_path / "0.parquet", {"corpus": name})
        found = read_originals([file], [tmp_path / "0.tar"], {name: 1}, count=3, seed=0)
        return list(make_copies(found, plan_copies(len(found))))

    for first, second in zip(copies("test"), copies("imagenet-val"), strict=True):
        np.testing.assert_array_equal(first, second)
