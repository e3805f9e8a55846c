import logging

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image

from clipaudit.errors import StepError
from clipaudit.models.transforms import evaluation_preparation
from clipaudit.parrot.probing import PROBES, probe
from clipaudit.parrot.synthetic import STYLES, dejavu_sans, render

STYLE_NAMES = tuple(STYLES)
WORDS = ["red", "cat", "null", "nan", "a dog of", "None", "漢", "photo", "blue", "of", "\u200b"]
LONG = " ".join(["a blue photo of a dog"] * 5)


def vocabulary(words):
    schema = pa.schema([("gram", pa.string()), ("frequency", pa.int64())])
    return pa.table([words, range(len(words), 0, -1)], schema=schema)


def probed(clip, words, size=8, workers=0, styles=STYLE_NAMES, grams=None):
    tables = probe(
        clip,
        vocabulary(words) if grams is None else grams,
        dejavu_sans(),
        side=64,
        type_size=16,
        styles=styles,
        batch_size=size,
        workers=workers,
        device=torch.device("cpu"),
    )
    return pa.concat_tables([PROBES.empty_table(), *tables])


def similarity(clip, text, style, drawn=None):
    """One image and one text at a time; the image shows `drawn`, or else the text."""
    preparation = evaluation_preparation(clip.preprocessing)
    drawn = Image.fromarray(render(drawn or text, style, dejavu_sans(), side=64, type_size=16))
    pixels = torch.tensor(preparation.pixels(drawn)[None])
    with torch.inference_mode():
        picture = clip.model.encode_image(preparation.tensor(pixels, torch.device("cpu")))
        return torch.cosine_similarity(picture, clip.model.encode_text(clip.tokenizer([text])))


@pytest.mark.parametrize("size", [1, 8, 64])
def test_similarities_equal_those_of_one_pair_at_a_time(clip, size):
    table = probed(clip, WORDS, size=size)

    assert table.schema == PROBES
    for row in table.to_pylist():
        alone = similarity(clip, row["gram"], row["style"]).item()
        assert row["similarity"] == pytest.approx(alone, abs=1e-5)


def test_rows_are_sorted_by_gram_and_then_by_style(clip):
    rows = probed(clip, WORDS).to_pylist()

    assert [(row["gram"], row["frequency"], row["style"]) for row in rows] == [
        (word, len(WORDS) - at, style) for at, word in enumerate(WORDS) for style in STYLE_NAMES
    ]


def test_the_number_of_workers_does_not_matter(clip):
    assert probed(clip, WORDS, workers=2) == probed(clip, WORDS)


def test_grams_in_many_chunks_give_the_same_rows(clip):
    whole = vocabulary(WORDS)
    pieces = pa.concat_tables([whole.slice(start, 3) for start in range(0, len(WORDS), 3)])

    assert probed(clip, WORDS, grams=pieces) == probed(clip, WORDS)


def test_one_style_gives_one_row_per_gram(clip):
    table = probed(clip, ["cat", "dog"], styles=["gray-white"])

    assert table["style"].to_pylist() == ["gray-white"] * 2


@pytest.mark.parametrize(("size", "pictures"), [(8, 8), (11, 8), (3, 4)])
def test_every_forward_pass_is_full(clip, monkeypatch, size, pictures):
    encode, sizes = clip.model.encode_image, []

    def counted(images):
        sizes.append(len(images))
        return encode(images)

    monkeypatch.setattr(clip.model, "encode_image", counted)
    probed(clip, ["red", "cat", "dog"], size=size)

    assert sizes == [pictures] * -(-3 * 4 // pictures)


def test_the_layout_of_each_gram_is_recorded(clip):
    table = probed(clip, ["cat", "a dog of a cat", "photograph" * 2, "漢字", "\u200b", LONG * 9])

    names = ["lines", "type_size", "missing_glyphs", "cut"]
    first = table.to_pylist()[:: len(STYLE_NAMES)]
    assert [tuple(row[name] for name in names) for row in first[:5]] == [
        (1, 16, 0, 0),
        (2, 16, 0, 0),
        (2, 8, 0, 0),
        (1, 16, 2, 0),
        (0, 16, 0, 0),
    ]
    assert first[5]["type_size"] == 8
    assert first[5]["cut"] > 0


def test_text_beyond_the_context_length_is_truncated(clip):
    table = probed(clip, [LONG])

    assert np.isfinite(table["similarity"].to_numpy()).all()


@pytest.mark.parametrize("weights", ["text_projection", "visual.attnpool.c_proj.weight"])
def test_a_diverged_model_is_refused(clip, weights):
    with torch.no_grad():
        clip.model.get_parameter(weights).fill_(torch.nan)

    with pytest.raises(StepError, match="synthetic probe: the model gives embeddings"):
        probed(clip, WORDS)


def test_an_empty_vocabulary_gives_no_rows(clip):
    assert len(probed(clip, [])) == 0


def test_the_log_names_grams_that_are_not_drawn_plainly(clip, caplog):
    caplog.set_level(logging.INFO, "clipaudit")

    probed(clip, ["cat", "a dog of a cat", "photograph" * 2, "漢字"])

    assert "4 of 4 grams" in caplog.text
    assert "2 wrapped, 1 shrunk, 1 with missing glyphs" in caplog.text


def test_each_image_is_compared_with_all_other_words(clip):
    table = probed(clip, ["red", "cat", "photo"], styles=["gray-white"])

    cosines = np.array(
        [[similarity(clip, text, "gray-white", drawn).item() for text in table["gram"].to_pylist()]
         for drawn in table["gram"].to_pylist()]
    )  # fmt: skip
    others = (cosines.sum(axis=1) - cosines.diagonal()) / 2
    assert table["mismatched"].to_numpy() == pytest.approx(others, abs=1e-5)
    ranks = (cosines > cosines.diagonal()[:, None]).sum(axis=1)
    assert table["rank"].to_pylist() == ranks.tolist()
    assert table["right"].to_pylist() == (ranks == 0).tolist()
    assert table["choices"].to_pylist() == [3] * 3


def test_words_with_the_same_tokens_are_one_choice(clip):
    table = probed(clip, ["cat", "CAT", "dog"], styles=["gray-white"])

    assert table["choices"].to_pylist() == [2] * 3
    alone = probed(clip, ["cat", "dog"], styles=["gray-white"])
    assert table["rank"].to_pylist()[::2] == alone["rank"].to_pylist()
    assert table["right"].to_pylist()[::2] == alone["right"].to_pylist()


def test_a_single_word_has_no_other_to_compare_with(clip):
    table = probed(clip, ["cat"], styles=["gray-white"])

    assert (table["mismatched"].to_pylist(), table["right"].to_pylist()) == ([None], [1.0])
