"""What `clipaudit audit` finds behind URLs, from a server on loopback."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tinyclip import picture, write_shard

from clipaudit.config.loading import parse_settings
from clipaudit.imports.asked_data import find_corpora

PICTURE = picture(np.random.default_rng(0))


def test_tars_are_found_by_url_with_their_captions(served, tmp_path):
    shard = write_shard(tmp_path / "0.tar", [{"png": PICTURE, "txt": b"a cat"}])
    served.files |= {f"/web/{number}.tar": shard.read_bytes() for number in range(2)}

    found = find_corpora([f"{served.url}/web/{{0..1}}.tar"], [], tmp_path / "audit")["train"]

    assert (found["shards"], found["captions"]) == (f"{served.url}/web/{{0..1}}.tar", "text")
    assert parse_settings({"corpora": {"train": found}}).is_remote("train")
    assert served.bodies() == ["/web/0.tar"]


def test_parquet_is_read_from_a_url(served, tmp_path):
    pq.write_table(pa.table({"image": [PICTURE], "prompt": ["a cat"]}), tmp_path / "0.parquet")
    served.files["/0.parquet"] = (tmp_path / "0.parquet").read_bytes()

    found = find_corpora([f"{served.url}/0.parquet"], [], tmp_path / "audit")["train"]

    assert found["caption_field"] == "prompt"
