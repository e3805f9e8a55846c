import json

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tinyclip import index, picture, write_shard

from clipaudit.corpora.images import open_picture
from clipaudit.errors import InputError, StepError
from clipaudit.evaluation.selection import SELECTIONS, choose, select_captions
from clipaudit.models.pictures import Running
from clipaudit.models.transforms import evaluation_preparation

TEXTS = ["a red cat", "a cat red", "blue dog of a photo", "dog", "green", "a photo of a"]


def shard(folder, number, metadata):
    """A shard with a random image for each JSON object; None: a sample without JSON."""
    rng = np.random.default_rng(number)
    samples = [
        {"png": picture(rng)} | ({} if fields is None else {"json": json.dumps(fields).encode()})
        for fields in metadata
    ]
    path = write_shard(folder / f"{number:05d}.tar", [{"txt": b"a cat"} | one for one in samples])
    return number, path


def questions(count, seed=0):
    rng = np.random.default_rng(seed)
    asked = []
    for at in range(count):
        captions = [str(text) for text in rng.permutation(TEXTS)[: 2 + at % 4]]
        asked.append({"captions": captions, "right": at % 2, "kind": "ab"[at % 2]})
    return asked


def selected(clip, shards, samples=None, workers=0, size=4):
    samples = index(shards) if samples is None else samples
    running = Running(size, workers, torch.device("cpu"))
    return select_captions(clip, "aro", shards, samples, running)


def similarities(clip, image, captions):
    """One image and one text at a time."""
    preparation = evaluation_preparation(clip.preprocessing)
    pixels = torch.tensor(preparation.pixels(open_picture(image).rgb)[None])
    with torch.inference_mode():
        own = clip.model.encode_image(preparation.tensor(pixels, torch.device("cpu")))[0]
        texts = [clip.model.encode_text(clip.tokenizer([text]))[0] for text in captions]
        return [torch.cosine_similarity(own, text, dim=0).item() for text in texts]


def test_selections_equal_those_of_single_comparisons(clip, tmp_path):
    asked = questions(9)

    table = selected(clip, [shard(tmp_path, 0, asked)])

    rng = np.random.default_rng(0)
    assert table.schema == SELECTIONS
    for row, (found, fields) in enumerate(zip(table.to_pylist(), asked, strict=True)):
        near = similarities(clip, picture(rng), fields["captions"])
        others = [value for place, value in enumerate(near) if place != fields["right"]]
        assert (found["shard"], found["row"]) == (0, row)
        assert (found["kind"], found["right"]) == (fields["kind"], fields["right"])
        assert found["candidates"] == len(near)
        assert found["chosen"] == int(np.argmax(near))
        assert found["margin"] == pytest.approx(near[fields["right"]] - max(others), abs=1e-5)


def test_a_tie_with_the_right_caption_counts_as_wrong(clip, tmp_path):
    asked = [{"captions": ["a cat", "a cat"], "right": right} for right in (0, 1)]

    table = selected(clip, [shard(tmp_path, 0, asked)])

    assert table["chosen"].to_pylist() == [1, 0]
    assert table["margin"].to_pylist() == [0, 0]


def test_right_defaults_to_the_first_and_kind_to_none(clip, tmp_path):
    table = selected(clip, [shard(tmp_path, 0, [{"captions": TEXTS[:2]}])])

    assert table["right"].to_pylist() == [0]
    assert table["kind"].to_pylist() == [None]


def test_rows_of_a_shard_do_not_depend_on_other_shards_or_workers(clip, tmp_path):
    shards = [shard(tmp_path, number, questions(5 + number, number)) for number in range(3)]

    together = selected(clip, shards, workers=2)

    apart = [selected(clip, [one]) for one in shards]
    assert together == pa.concat_tables(apart)


def test_the_batch_size_changes_only_rounding(clip, tmp_path):
    shards = [shard(tmp_path, 0, questions(7))]

    small, large = selected(clip, shards, size=2), selected(clip, shards, size=16)

    np.testing.assert_allclose(small["margin"], large["margin"], atol=1e-5)
    assert small["chosen"] == large["chosen"]


def test_no_samples_give_an_empty_table(clip, tmp_path):
    shards = [shard(tmp_path, 0, questions(1))]

    assert selected(clip, shards, index(shards)[:0]) == SELECTIONS.empty_table()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (None, r"aro: shard 0, row 1: its JSON is not an object\. .*Write them into the shard,"),
        ({}, "`captions` is null, not a list of texts"),
        ({"captions": ["a", 1]}, r'`captions` is \["a", 1\], not a list of texts'),
        ({"captions": ["a", "\ud800"]}, "not a list of texts"),
        ({"captions": ["a"]}, "row 1: 1 candidate captions"),
        ({"captions": TEXTS, "right": 6}, "`right` is 6, not a place among 6 captions"),
        ({"captions": TEXTS, "right": -1}, "`right` is -1, not a place"),
        ({"captions": TEXTS, "right": True}, "`right` is true, not a place"),
        ({"captions": TEXTS, "kind": 3}, "`kind` is 3, not text"),
    ],
)
def test_a_sample_without_candidates_is_refused(clip, tmp_path, fields, message):
    shards = [shard(tmp_path, 0, [questions(1)[0], fields])]

    with pytest.raises(InputError, match=message):
        selected(clip, shards)


def test_an_image_that_cannot_be_decoded_is_refused(clip, tmp_path):
    shards = [shard(tmp_path, 0, questions(2))]
    samples = index(shards)
    broken = {"png": b"no picture", "json": json.dumps(questions(1)[0]).encode()}
    write_shard(shards[0][1], [broken, broken])

    with pytest.raises(InputError, match=r"aro: shard 0, row 0: .*index it again"):
        selected(clip, shards, samples)


def test_a_model_with_diverged_texts_is_refused(clip, tmp_path):
    with torch.no_grad():
        clip.model.text_projection.fill_(torch.nan)

    with pytest.raises(StepError, match=r"aro: the model gives embeddings .* not finite"):
        selected(clip, [shard(tmp_path, 0, questions(2))])


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([-1, 0, 0.25, 1]), min_size=2, max_size=5), st.integers()
        )
    )
)
def test_the_choice_equals_that_of_a_plain_loop(asked):
    asked = [(near, right % len(near)) for near, right in asked]
    flat = np.array([value for near, _ in asked for value in near], np.float64)
    counts = np.array([len(near) for near, _ in asked], np.int64)

    chosen, margins = choose(flat, counts, [right for _, right in asked])

    for (near, right), place, margin in zip(asked, chosen, margins, strict=True):
        others = [value for at, value in enumerate(near) if at != right]
        wrong = [at for at, value in enumerate(near) if at != right and value == max(others)]
        assert margin == near[right] - max(others)
        assert place == (right if near[right] > max(others) else wrong[0])
