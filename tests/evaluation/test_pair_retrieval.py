import io
import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tinyclip import index, picture, text_shards, write_shard

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.samples import index_shards
from clipaudit.errors import InputError, StepError
from clipaudit.evaluation.pair_retrieval import (
    IMAGE_TO_TEXT,
    PAIR_RANKS,
    TEXT_TO_IMAGE,
    ranks,
    retrieve_pairs,
)
from clipaudit.models.pictures import Running
from clipaudit.models.transforms import evaluation_preparation

CAPTIONS = [["a red cat", "cat"], ["dog"], ["a blue dog", "dog of a cat", "green"], ["a photo"]]


def retrieved(clip, shards, samples=None, several=False, workers=0, size=4):
    samples = index(shards) if samples is None else samples
    running = Running(size, workers, torch.device("cpu"))
    return retrieve_pairs(clip, "pairs", shards, samples, running, several=several)


def several_shard(folder, captions=CAPTIONS, number=0, form="txt", pictures=None):
    rng = np.random.default_rng(number)
    pictures = [picture(rng) for _ in captions] if pictures is None else pictures
    if form == "txt":
        said = [{"txt": "\n".join(own).encode()} for own in captions]
    else:
        said = [{"json": json.dumps({"captions": own}).encode()} for own in captions]
    samples = [{"png": one} | text for one, text in zip(pictures, said, strict=True)]
    return number, write_shard(folder / f"{number:05d}.tar", samples)


def indexed(shards):
    captioning = Captioning("texts")
    return index_shards(shards, captioning, needs_caption=False, needs_label=False)[0]


def plain_ranks(similar, owner):
    """The ranks of both directions, one comparison at a time; `similar` is images by texts."""
    of_images, of_texts = [], []
    for image, row in enumerate(similar):
        best = max(near for near, own in zip(row, owner, strict=True) if own == image)
        wrong = [near for near, own in zip(row, owner, strict=True) if own != image]
        of_images.append(sum(near >= best for near in wrong))
    for text, own in enumerate(owner):
        wrong = [similar[image][text] for image in range(len(similar)) if image != own]
        of_texts.append(sum(near >= similar[own][text] for near in wrong))
    return of_images, of_texts


@given(st.lists(st.integers(1, 3), max_size=9), st.integers(0, 99), st.integers(1, 7))
def test_ranks_equal_those_of_a_plain_loop(counts, seed, block_rows):
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(len(counts)), counts)
    images = rng.choice(np.array([-0.5, 0, 0.5], np.float16), (len(counts), 3))
    texts = rng.choice(np.array([-0.5, 0, 0.5], np.float16), (len(owner), 3))

    found = ranks(images, texts, owner, block_rows=block_rows)

    similar = images.astype(np.float64) @ texts.astype(np.float64).T
    assert tuple(each.tolist() for each in found) == plain_ranks(similar.tolist(), owner)


@pytest.mark.parametrize("block_rows", [1, 3, 100])
def test_equal_texts_tie_for_any_split_of_the_comparison(block_rows):
    rng = np.random.default_rng(0)
    images = rng.normal(size=(20, 33)).astype(np.float16) / 8
    texts = np.repeat(images[:10], 2, axis=0)

    of_images, _ = ranks(images, texts, np.arange(20), block_rows=block_rows)

    near = images.astype(np.float64) @ texts.astype(np.float64).T
    own = np.diagonal(near)
    np.testing.assert_array_equal(of_images, (near >= own[:, None]).sum(axis=1) - 1)
    assert of_images.min() >= 1


def flat_picture(colour):
    """Random images are too similar for a random model: rounding would decide their ranks."""
    out = io.BytesIO()
    Image.new("RGB", (40, 40), colour).save(out, "PNG")
    return out.getvalue()


def similarities(clip, pictures, captions):
    """One image at a time, in float32: images by captions."""
    preparation = evaluation_preparation(clip.preprocessing)
    with torch.inference_mode():
        texts = clip.model.encode_text(clip.tokenizer(captions))
        rows = []
        for one in pictures:
            pixels = torch.tensor(preparation.pixels(open_picture(one).rgb)[None])
            image = clip.model.encode_image(preparation.tensor(pixels, torch.device("cpu")))
            rows.append(torch.cosine_similarity(image, texts).numpy())
    return np.array(rows)


def test_ranks_of_a_model_equal_those_of_single_comparisons(clip, tmp_path):
    captions = [text for own in CAPTIONS for text in own]
    owner = [image for image, own in enumerate(CAPTIONS) for _ in own]
    pictures = [flat_picture(colour) for colour in ("black", "white", "red", "blue")]
    shards = [several_shard(tmp_path, pictures=pictures)]

    table = retrieved(clip, shards, indexed(shards), several=True)

    near = similarities(clip, pictures, captions)
    right = np.array([[own == image for own in owner] for image in range(len(CAPTIONS))])
    slack = np.where(right, 0, 5e-4)  # float16 moves a similarity by less
    assert table.schema == PAIR_RANKS
    found = table["rank"].to_pylist()
    low, high = (np.concatenate(plain_ranks(near + way * slack, owner)) for way in (-1, 1))
    assert all(a <= rank <= b for a, rank, b in zip(low, found, high, strict=True))


def test_rows_are_one_per_image_and_then_one_per_caption(clip, tmp_path):
    shards = [several_shard(tmp_path), several_shard(tmp_path, CAPTIONS[:2], 1)]

    table = retrieved(clip, shards, indexed(shards), several=True).to_pylist()

    queries = [(row["direction"], row["shard"], row["row"], row["caption"]) for row in table]
    sets = [(0, CAPTIONS), (1, CAPTIONS[:2])]
    places = [(shard, row, own) for shard, sets_ in sets for row, own in enumerate(sets_)]
    assert queries == [
        *[(IMAGE_TO_TEXT, shard, row, 0) for shard, row, _ in places],
        *[(TEXT_TO_IMAGE, shard, row, n) for shard, row, own in places for n in range(len(own))],
    ]


def test_captions_come_from_lines_and_from_json(clip, tmp_path):
    lines = [several_shard(tmp_path)]
    expected = retrieved(clip, lines, indexed(lines), several=True)

    listed = [several_shard(tmp_path, form="json")]

    assert retrieved(clip, listed, indexed(listed), several=True) == expected


def test_equal_captions_of_two_images_count_against_both(clip, tmp_path):
    shards = [several_shard(tmp_path, [["a cat"], ["a cat"], ["a cat"]])]

    table = retrieved(clip, shards, indexed(shards))

    assert table["rank"].to_pylist()[:3] == [2, 2, 2]


def test_equal_captions_of_one_image_are_both_right(clip, tmp_path):
    shards = [several_shard(tmp_path, [["a cat", "a cat"]])]

    table = retrieved(clip, shards, indexed(shards), several=True)

    assert table["rank"].to_pylist() == [0, 0, 0]


def test_the_number_of_workers_does_not_matter(clip, tmp_path):
    shards = text_shards(tmp_path, [5, 4])

    assert retrieved(clip, shards, workers=2) == retrieved(clip, shards)


@pytest.mark.parametrize("several", [False, True])
def test_no_samples_give_no_rows(clip, tmp_path, several):
    shards = text_shards(tmp_path, [2])

    table = retrieved(clip, shards, index(shards)[:0], several=several)

    assert table == PAIR_RANKS.empty_table()


@pytest.mark.parametrize("several", [False, True])
def test_an_image_without_a_caption_is_refused(clip, tmp_path, several):
    shards = [several_shard(tmp_path, [["a cat"], [""]])]

    with pytest.raises(InputError, match=r"pairs: shard 0, row 1: no caption\. Set `captions`"):
        retrieved(clip, shards, indexed(shards), several=several)


def test_an_invalid_list_of_captions_is_refused(clip, tmp_path):
    shards = [several_shard(tmp_path)]
    samples = indexed(shards)
    several_shard(tmp_path, [*CAPTIONS[:3], [3]], form="json")

    with pytest.raises(InputError, match=r"row 3: bad caption: .*found int.*Index the set"):
        retrieved(clip, shards, samples, several=True)


def test_a_shard_with_missing_samples_is_refused(clip, tmp_path):
    shards = [several_shard(tmp_path)]
    samples = indexed(shards)
    several_shard(tmp_path, CAPTIONS[:2])

    with pytest.raises(InputError, match="index has 4 of its samples, but the file has 2"):
        retrieved(clip, shards, samples, several=True)


def test_a_diverged_model_is_refused(clip, tmp_path):
    with torch.no_grad():
        clip.model.text_projection.fill_(torch.nan)

    with pytest.raises(StepError, match=r"pairs: the model gives embeddings .* not finite"):
        retrieved(clip, text_shards(tmp_path, [2]))
