import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from drawnimages import described, drawing

from clipaudit.copies.embedded import embedded_sides
from clipaudit.embeddings.embedding import embeddings_schema
from clipaudit.store.actions import LabelledFile


def embeddings(path, encoder, rows):
    """A file of embeddings of some rows of shard 0, each a multiple of (1, 0)."""
    vectors = np.zeros((len(rows), 2), np.float16)
    vectors[:, 0] = rows
    columns = {
        "shard": np.zeros(len(rows), np.int32),
        "row": np.array(rows, np.int32),
        "embedding": pa.array([each.tobytes() for each in vectors], pa.binary(4)),
    }
    pq.write_table(pa.table(columns, schema=embeddings_schema(encoder, 2)), path)
    return LabelledFile(path, {"encoder": encoder})


def test_each_encoder_has_both_sides_and_omits_images_that_are_not_searched(tmp_path):
    others = [embeddings(tmp_path / f"{name}.parquet", name, [4, 5]) for name in ("a", "b")]
    own = [embeddings(tmp_path / f"own-{name}.parquet", name, [0, 1, 2]) for name in ("a", "b")]
    searched = described([drawing(0), drawing(1)]).images

    (found,) = embedded_sides(others, own, searched, {"a": 0.9, "b": None})

    assert (found.encoder, found.similarity) == ("a", 0.9)
    assert found.others[0].tolist() == [4, 5]
    assert found.own[0].tolist() == [0, 1]
    assert found.own[1][:, 0].tolist() == [0, 1]
