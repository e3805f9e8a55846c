import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from PIL import Image
from tinyclip import index, picture, text_shards, without, write_shard

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.samples import SAMPLES
from clipaudit.corpora.shards import first_image, raw_samples
from clipaudit.models.transforms import evaluation_preparation
from clipaudit.parrot.caption_scores import SCORES, score_captions
from clipaudit.parrot.erasing import donors, erase, mask_of, scaled, scaled_length
from clipaudit.parrot.matching import match
from clipaudit.parrot.spans import SPANS, Span, Word, spans_table

# some tests use more workers than cores, and torch warns of that
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

RADIUS, DILATION, SEED = 28, 12, 3  # 5 and 2 pixels in images of 40 x 43


def box(left, top, right, bottom):
    return (left, top, right, top, right, bottom, left, bottom)


def spotted(samples):
    """SPANS of rows in turn: a caption word with another, none, a foreign word, both apart."""
    rows = []
    for sample in samples.to_pylist():
        rng = np.random.default_rng([sample["shard"], sample["row"]])
        word = (sample["caption"] or "none").split()[0]
        x, y = rng.integers(0, 20, 2).tolist()
        own, other = Word(word, box(x, y, x + 8, y + 9)), Word("zzz", box(x + 9, y, x + 20, y + 9))
        both = Span(f"{word} zzz", 0.9, box(x, y, x + 20, y + 9), (own, other))
        foreign = Span("zzz", 0.8, box(y, x, y + 7, x + 7))
        spans = ([both], [], [foreign], [foreign, Span(word, 1.0, box(x, y, x + 9, y + 5))])
        rows.append((sample["shard"], sample["row"], spans[sample["row"] % 4]))
    return spans_table(rows)


@pytest.fixture
def shards(tmp_path):
    return text_shards(tmp_path, [9, 1, 6])


def scored(clip, shards, samples, spans=None, workers=0, size=4, matches=None):
    spans = spotted(samples) if spans is None else spans
    drops = Drops("score")
    tables = score_captions(
        shards,
        samples,
        spans,
        match(samples, spans) if matches is None else matches,
        clip,
        tokenization="words",
        radius=RADIUS,
        dilation=DILATION,
        shorter_side=256,  # more than any image here has
        seed=SEED,
        batch_size=size,
        workers=workers,
        device=torch.device("cpu"),
        drops=drops,
    )
    return pa.concat_tables([SCORES.empty_table(), *tables]), drops.table()


def plain_score(clip, pixels, caption):
    """One image and one caption at a time."""
    preparation = evaluation_preparation(clip.preprocessing)
    batch = torch.tensor(preparation.pixels(Image.fromarray(pixels))[None])
    with torch.inference_mode():
        own = clip.model.encode_image(preparation.tensor(batch, torch.device("cpu")))[0]
        text = clip.model.encode_text(clip.tokenizer([caption]))[0]
        return torch.cosine_similarity(own, text, dim=0).item()


def plainly_erased(pixels, polygons):
    height, width = pixels.shape[:2]
    mask = mask_of(polygons, height, width, dilation=scaled_length(DILATION, height, width))
    return erase(pixels, mask, radius=scaled_length(RADIUS, height, width))


def stored(path):
    opened = [open_picture(first_image(raw.members)).rgb for raw in raw_samples(path)]
    return [np.asarray(picture) for picture in opened]


def all_and_co(spans):
    """The polygons of all spans, and of what `spotted` took from the caption."""
    words = [word for span in spans for word in span["words"] or [span]]
    co = [word["polygon"] for word in words if word["text"] != "zzz"]
    return {"all": [tuple(span["polygon"]) for span in spans], "co": list(map(tuple, co))}


def plain_scores(clip, path, samples, spans, shard):
    """The SCORES of one shard, image by image."""
    pictures, captions = stored(path), samples["caption"].to_pylist()
    erased = [all_and_co(of_one) for of_one in spans["spans"].to_pylist()]
    numbers = np.arange(len(captions), dtype=np.int32)
    drawn = {
        kind: donors(numbers, np.array([bool(one[kind]) for one in erased]), shard=shard, seed=SEED)
        for kind in ("all", "co")
    }
    for row, (pixels, caption) in enumerate(zip(pictures, captions, strict=True)):
        scores = {"raw": plain_score(clip, pixels, caption)}
        for kind, donor_column in (("all", "donor_row"), ("co", "co_donor_row")):
            if erased[row][kind]:
                own = plainly_erased(pixels, erased[row][kind])
                scores[kind] = plain_score(clip, own, caption)
            if erased[row][kind] and drawn[kind][row] >= 0:
                donor = scores[donor_column] = drawn[kind][row]
                size = pictures[donor].shape[:2]
                polygons = scaled(erased[donor][kind], size, pixels.shape[:2])
                random = plainly_erased(pixels, polygons)
                scores[f"random_{kind}"] = plain_score(clip, random, caption)
        yield scores


@pytest.mark.parametrize("size", [1, 4, 64])
def test_scores_equal_those_of_one_image_at_a_time(clip, shards, size):
    samples = index(shards)
    spans = spotted(samples)

    table, drops = scored(clip, shards, samples, spans, size=size)

    assert table.schema == SCORES
    assert len(drops) == 0
    for shard, path in shards:
        own = pc.equal(samples["shard"], shard)
        plain = plain_scores(clip, path, samples.filter(own), spans.filter(own), shard)
        found = table.filter(pc.equal(table["shard"], shard)).to_pylist()
        for row, (one, expected) in enumerate(zip(found, plain, strict=True)):
            known = {name: value for name, value in one.items() if value is not None}
            assert known == pytest.approx({"shard": shard, "row": row} | expected, abs=1e-6)


@pytest.mark.parametrize("kind", ["all", "co", "random_all", "random_co"])
def test_erasing_changes_scores(clip, shards, kind):
    table, _ = scored(clip, shards, index(shards))

    changes = pc.abs(pc.subtract(table[kind], table["raw"]))

    assert pc.mean(changes).as_py() > 2e-5  # far above the tolerance of these tests


def test_scores_without_text_or_donor_are_null(clip, shards):
    samples = index(shards)

    table, _ = scored(clip, shards, samples)

    places = [row % 4 for row in table["row"].to_pylist()]
    without_text = [place == 1 for place in places]
    without_co = [place in (1, 2) for place in places]
    assert table["all"].is_null().to_pylist() == without_text
    assert table["co"].is_null().to_pylist() == without_co
    alone = [shard == 1 for shard in table["shard"].to_pylist()]  # the only row of its shard
    for name, lacking in (("all", without_text), ("co", without_co)):
        missing = [one or other for one, other in zip(lacking, alone, strict=True)]
        assert table[f"random_{name}"].is_null().to_pylist() == missing
    assert table["donor_row"].is_null() == table["random_all"].is_null()
    assert table["co_donor_row"].is_null() == table["random_co"].is_null()


def test_the_donor_is_another_row_with_the_same_kind_of_text(clip, shards):
    table, _ = scored(clip, shards, index(shards))

    for row, donor, co_donor in zip(
        *(table[name].to_pylist() for name in ("row", "donor_row", "co_donor_row")), strict=True
    ):
        assert donor is None or (donor != row and donor % 4 != 1)
        assert co_donor is None or (co_donor != row and co_donor % 4 in (0, 3))


def test_the_number_of_workers_does_not_matter(clip, tmp_path):
    shards = text_shards(tmp_path, [35, 3])  # more than a worker sends at once
    samples = index(shards)

    assert scored(clip, shards, samples) == scored(clip, shards, samples, workers=2)


def test_parts_of_one_or_three_shards_give_the_same_rows(clip, shards):
    samples = index(shards)

    together, _ = scored(clip, shards, samples)

    apart = [
        scored(clip, [one], samples.filter(pc.equal(samples["shard"], one[0])))[0] for one in shards
    ]
    assert together.combine_chunks() == pa.concat_tables(apart).combine_chunks()


def test_the_donor_is_stretched_to_the_size_of_the_image(clip, tmp_path):
    rng = np.random.default_rng(0)
    shards = [(0, write_shard(tmp_path / "0.tar", [captioned(rng, 40), captioned(rng, 80)]))]
    samples = index(shards)
    spans = spans_table(
        [(0, 0, [Span("a", 1.0, box(1, 2, 9, 9))]), (0, 1, [Span("a", 1.0, box(20, 50, 70, 70))])]
    )

    table, _ = scored(clip, shards, samples, spans)

    plain = plain_scores(clip, shards[0][1], samples, spans, 0)
    expected = [one["random_all"] for one in plain]
    assert table["random_all"].to_pylist() == pytest.approx(expected, abs=1e-6)


def captioned(rng, side, caption=b"a cat"):
    return {"png": picture(rng, side), "txt": caption}


def test_rows_without_a_caption_are_dropped_but_serve_as_donors(clip, shards):
    samples = index(shards)
    spans = spotted(samples)
    whole, _ = scored(clip, shards, samples, spans)
    captions = samples["caption"].to_pylist()
    captions[0] = captions[9] = None  # shard 0, row 0 and shard 1, row 0
    at = SAMPLES.get_field_index("caption")
    bare = samples.set_column(at, SAMPLES.field("caption"), pa.array(captions))

    table, drops = scored(clip, shards, bare, spans, matches=match(samples, spans))

    assert table.select(["shard", "row", "donor_row"]) == (
        without(whole, (0, 0), (1, 0)).select(["shard", "row", "donor_row"])
    )
    lost = [(row["shard"], row["row"], row["reason"]) for row in drops.to_pylist()]
    assert lost == [(0, 0, "no caption"), (1, 0, "no caption")]


def test_rows_not_read_for_text_are_omitted(clip, shards):
    samples = index(shards)
    spans = without(spotted(samples), (0, 2), (1, 0))

    kept = without(samples, (0, 2), (1, 0))
    table, drops = scored(clip, shards, samples, spans, matches=match(kept, spans))

    assert table == scored(clip, shards, kept, spans)[0]
    assert len(drops) == 0


def test_rows_are_scored_or_dropped_in_order(clip, shards):
    samples = index(shards)
    spans = spotted(samples)
    broken = [{"png": b"broken", "txt": b"a cat"}, {"txt": b"a dog"}]
    write_shard(shards[2][1], [captioned(np.random.default_rng(0), 40)] * 3 + broken * 2)

    table, drops = scored(clip, shards, samples, spans)

    assert len(table) + len(drops) == len(samples)
    lost = [(row["row"], row["reason"]) for row in drops.to_pylist()]
    assert lost == [(3, "corrupt image"), (4, "no image"), (5, "corrupt image")]


def test_non_finite_scores_are_dropped(clip, shards):
    samples = index(shards)
    with torch.no_grad():
        clip.model.visual.conv1.weight.fill_(torch.nan)

    table, drops = scored(clip, shards, samples)

    assert len(table) == 0
    assert drops["reason"].to_pylist() == ["embedding not finite"] * len(samples)


def test_no_images_give_no_scores(clip, shards):
    samples = index(shards)

    table, drops = scored(clip, shards, samples, SPANS.empty_table(), matches=None)

    assert len(table) == len(drops) == 0


def test_the_final_row_count_is_logged(clip, shards, caplog):
    caplog.set_level("INFO", "clipaudit")

    scored(clip, shards, index(shards))

    assert "scoring captions: 16 of 16 images" in caplog.text
