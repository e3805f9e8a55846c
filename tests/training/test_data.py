import itertools
import json
from collections import Counter

import numpy as np
import pytest
import torch
from tinyclip import WORDS, picture, sealed, text_shards, write_shard

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.sealed import CorpusToSeal, Sealed, ShardToSeal, seal
from clipaudit.errors import InputError
from clipaudit.models.transforms import training_preparation
from clipaudit.training.data import (
    DECODED_BYTES,
    Batches,
    CaptionMaker,
    Crops,
    Sample,
    TrainingData,
    kept_samples,
    shuffled,
)
from clipaudit.training.order import make_plan

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")
COUNTS = [5, 8, 3, 9]
DROPPED = {(0, 1), (1, 0), (1, 7), (3, 4)}


@pytest.fixture
def corpus(tmp_path):
    shards = text_shards(tmp_path, COUNTS)
    file, _ = sealed(tmp_path, shards, COUNTS, drop=DROPPED)
    return Sealed(file), dict(shards)


def make_maker(clip, masking=0.0, seed=0, room=DECODED_BYTES, **settings):
    preparation = training_preparation(clip.preprocessing, crop_scale=(0.5, 1.0))
    end = clip.tokenizer.eot_token_id
    crops = Crops(preparation, seed, room)
    return CaptionMaker(crops, clip.tokenizer, masking, end, **settings)


def training_data(
    corpus,
    clip,
    *,
    workers=0,
    batch=4,
    masking=0.0,
    held=6,
    seed=0,
    room=1 << 20,
    shuffle="shards",
    **settings,
):
    manifest, paths = corpus
    kept = {shard.number: shard.kept for shard in manifest}
    plan = make_plan(
        kept, batch_size=batch, processes=1, workers=workers, seed=seed, shuffle=shuffle
    )
    maker = make_maker(clip, masking, seed, room=room, **settings)
    return TrainingData(plan, manifest, paths, maker, process=0, held=held)


def epochs(data, workers=0, count=2):
    batches = Batches(data, workers=workers, pinned=False)
    return [list(batches.epoch(n, data.plan.steps(n))) for n in range(count)]


def flat(batches):
    return torch.cat([batch.pixels for batch in batches]), torch.cat([b.targets for b in batches])


def test_kept_samples_are_those_of_the_manifest(corpus):
    manifest, paths = corpus

    found = [
        (sample.shard, sample.row)
        for n, path in paths.items()
        for sample in kept_samples(path, manifest.shard(n))
    ]

    assert set(found) | DROPPED == {(n, r) for n, c in enumerate(COUNTS) for r in range(c)}
    assert not set(found) & DROPPED


def test_the_shuffle_buffer_stays_within_its_limit():
    read = 0

    def source():
        nonlocal read
        for number in range(1, 101):
            read = number
            yield number

    given = [(sample, read) for sample in shuffled(source(), held=10, seed=1)]

    assert sorted(sample for sample, _ in given) == list(range(1, 101))
    assert all(sample_read - position <= 11 for position, (_, sample_read) in enumerate(given))
    assert [sample for sample, _ in given] != sorted(sample for sample, _ in given)


def test_every_epoch_has_different_crops_in_another_order(corpus, clip):
    first, second = map(flat, epochs(training_data(corpus, clip, batch=1)))

    assert len(first[0]) == len(second[0]) == 21
    assert not torch.equal(first[0], second[0])
    assert sorted(first[1].tolist()) == sorted(second[1].tolist())  # the same captions
    assert first[1].tolist() != second[1].tolist()


def test_single_samples_get_another_order_each_epoch(corpus, clip):
    first, second = map(flat, epochs(training_data(corpus, clip, batch=1, shuffle="samples")))

    assert len(first[1]) == sum(COUNTS) - len(DROPPED)
    assert sorted(first[1].tolist()) == sorted(second[1].tolist())
    assert first[1].tolist() != second[1].tolist()


def test_shuffling_samples_keeps_the_images_and_tokens(corpus, clip):
    by_shards, by_samples = (
        flat(epochs(training_data(corpus, clip, batch=1, workers=2, shuffle=how), workers=2)[0])
        for how in ("shards", "samples")
    )

    for one, two in zip(by_shards, by_samples, strict=True):
        assert sorted(map(str, one.tolist())) == sorted(map(str, two.tolist()))


@pytest.mark.parametrize("shuffle", ["shards", "samples"])
@pytest.mark.parametrize("workers", [0, 2, 3])
def test_an_epoch_resumes_from_any_step_with_the_remaining_batches(corpus, clip, workers, shuffle):
    data = training_data(corpus, clip, workers=workers, batch=2, masking=0.3, shuffle=shuffle)
    batches = Batches(data, workers=workers, pinned=False)
    steps = data.plan.steps(1)
    whole = list(batches.epoch(1, steps))

    for first in range(steps):
        rest = list(batches.epoch(1, steps, first=first))

        assert len(rest) == steps - first
        assert all(map(torch.equal, *map(flat, (rest, whole[first:]))))


def test_samples_skipped_in_an_epoch_are_not_read(corpus, clip):
    data = training_data(corpus, clip, batch=2, held=1)
    data.paths[data.plan.shards(0, 0, 0)[0]].unlink()

    (batch,) = Batches(data, workers=0, pinned=False).epoch(0, data.plan.steps(0), first=9)

    assert len(batch.pixels) == 2


def test_a_partial_batch_is_omitted(corpus, clip):
    assert [len(each) for each in epochs(training_data(corpus, clip, batch=4))] == [5, 5]


@pytest.mark.parametrize("room", [0, 20_000, 1 << 20])
def test_the_decoding_process_and_cached_images_change_nothing(corpus, clip, room):
    plain = epochs(training_data(corpus, clip, masking=0.3, room=1 << 20))
    other = epochs(training_data(corpus, clip, workers=1, masking=0.3, room=room), workers=1)

    for one, two in zip(itertools.chain(*plain), itertools.chain(*other), strict=True):
        assert torch.equal(one.pixels, two.pixels)
        assert torch.equal(one.targets, two.targets)


def test_the_crop_of_a_sample_depends_on_neither_order_nor_workers(corpus, clip):
    few = flat(epochs(training_data(corpus, clip, batch=1, held=1))[0])[0]
    many = flat(epochs(training_data(corpus, clip, batch=1, workers=2), workers=2)[0])[0]

    def unordered(pixels):
        return {each.numpy().tobytes() for each in pixels}

    assert unordered(few) == unordered(many)
    assert not torch.equal(few, many)


def test_masked_tokens_are_redrawn_each_epoch(corpus, clip):
    whole = flat(epochs(training_data(corpus, clip, batch=1))[0])[1]
    first, second = (flat(e)[1] for e in epochs(training_data(corpus, clip, batch=1, masking=0.5)))

    kept = [int((tokens > 0).sum()) for tokens in (whole, first, second)]
    assert kept[1] < kept[0]
    assert sorted(first.tolist()) != sorted(second.tolist())


def test_the_random_state_of_the_training_is_unchanged(corpus, clip):
    before = torch.get_rng_state()

    epochs(training_data(corpus, clip))

    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_shard_with_missing_samples_is_refused(corpus, clip, tmp_path, workers):
    data = training_data(corpus, clip, workers=workers)
    text_shards(tmp_path, [5, 8, 2, 9])

    with pytest.raises(InputError, match=r"00002\.tar: the manifest keeps 3 .* file has 2"):
        epochs(data, workers=workers)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"png": b"broken", "txt": b"a cat"}, "corrupt image"),
        ({"txt": b"a cat"}, "no image"),
        ({"png": picture(np.random.default_rng(0))}, "no caption"),
        ({"png": picture(np.random.default_rng(0)), "txt": b"\xff"}, "bad caption"),
    ],
)
def test_a_kept_sample_that_cannot_be_used_is_refused(tmp_path, clip, members, message):
    path = write_shard(tmp_path / "0.tar", [members] * 4)
    file, _ = sealed(tmp_path, [(0, path)], [4])

    with pytest.raises(InputError, match=rf"0\.tar, row 0: .*{message}"):
        epochs(training_data((Sealed(file), {0: path}), clip))


def test_captions_come_from_classes_if_the_manifest_says_so(tmp_path, clip):
    shards = text_shards(tmp_path, [6])
    photos = Captioning("class", "a photo of a {}", ("cat", "dog", "red"))
    file, _ = sealed(tmp_path, shards, [6], captioning=photos)

    tokens = flat(epochs(training_data((Sealed(file), dict(shards)), clip, batch=1))[0])[1]

    wanted = clip.tokenizer([f"a photo of a {name}" for name in photos.classes])
    assert sorted(tokens.tolist()) == sorted(wanted.tolist() * 2)


SEVERAL = ("a red cat", "photo of dog", "blue", "green cat of a dog", "dog a dog")


@pytest.fixture
def mixed(tmp_path):
    """Two corpora: eight images with the one caption "a cat", ten with SEVERAL."""
    rng = np.random.default_rng(0)
    one, several = {"txt": b"a cat"}, {"json": json.dumps({"captions": SEVERAL}).encode()}
    corpora, paths = [], {}
    for source, texts, counts in (("text", one, [3, 5]), ("texts", several, [4, 6])):
        shards = []
        for count in counts:
            members = [{"png": picture(rng), **texts} for _ in range(count)]
            paths[len(paths)] = write_shard(tmp_path / f"{len(paths)}.tar", members)
            shards.append(ShardToSeal("00" * 32, count, bytes([(1 << count) - 1])))
        corpora.append(CorpusToSeal(source, Captioning(source), shards))
    (tmp_path / "sealed").write_bytes(seal(corpora))
    return Sealed(tmp_path / "sealed"), paths


def samples_of(batches):
    """The (pixels, tokens) of an epoch in batches of one, without their order."""
    return Counter((b.pixels.numpy().tobytes(), tuple(b.targets[0].tolist())) for b in batches)


def token_rows(clip, captions):
    return set(map(tuple, clip.tokenizer(list(captions)).tolist()))


def test_one_of_several_captions_is_redrawn_each_epoch(mixed, clip):
    first, second = (samples_of(e) for e in epochs(training_data(mixed, clip, batch=1)))

    rows = [Counter(tokens for _, tokens in each.elements()) for each in (first, second)]
    assert rows[0] != rows[1]
    assert len(rows[0]) > 2
    for each in rows:
        assert each.keys() <= token_rows(clip, ["a cat", *SEVERAL])
        assert each[next(iter(token_rows(clip, ["a cat"])))] == 8


@pytest.mark.parametrize("workers", [1, 2])
def test_the_caption_of_a_sample_depends_on_neither_order_nor_workers(mixed, clip, workers):
    plain = epochs(training_data(mixed, clip, batch=1, masking=0.5, held=1))
    other = training_data(mixed, clip, batch=1, masking=0.5, workers=workers)

    assert list(map(samples_of, plain)) == list(map(samples_of, epochs(other, workers)))


def test_captions_are_drawn_about_equally_often(clip):
    maker = make_maker(clip)

    drawn = Counter(
        tuple(maker.target(Sample(shard, row, b"", SEVERAL), epoch).tolist())
        for shard, row, epoch in itertools.product(range(5), range(40), range(10))
    )

    assert drawn.keys() == token_rows(clip, SEVERAL)
    assert all(330 < count < 470 for count in drawn.values())  # 400, four standard deviations


@pytest.mark.parametrize("choice", ["first", "random"])
def test_only_corpora_with_one_caption_are_masked(mixed, clip, choice):
    data = training_data(mixed, clip, batch=1, masking=0.9, choice=choice)

    rows = {tuple(b.targets[0].tolist()) for each in epochs(data) for b in each}

    whole = token_rows(clip, SEVERAL if choice == "random" else SEVERAL[:1])
    masked = rows - whole
    assert rows & whole
    assert not masked & token_rows(clip, ["a cat", *SEVERAL])
    assert max(len(set(row) - {0}) for row in masked) < 4  # start, end and one of two


def test_the_setting_first_always_selects_the_first_caption(mixed, clip):
    data = training_data(mixed, clip, batch=1, choice="first", seed=3)

    rows = Counter(tuple(b.targets[0].tolist()) for each in epochs(data) for b in each)

    assert rows.keys() == token_rows(clip, ["a cat", SEVERAL[0]])
    assert sorted(rows.values()) == [2 * 8, 2 * 10]


def test_a_single_caption_in_a_corpus_with_several_is_not_masked(clip):
    maker = make_maker(clip, masking=0.9)
    sample = Sample(0, 0, b"", (" ".join(WORDS[:3]),))

    assert maker.target(sample, 0).tolist() == clip.tokenizer(["red green blue"])[0].tolist()


def test_an_image_without_any_of_several_captions_is_refused(tmp_path, clip):
    members = {"png": picture(np.random.default_rng(0)), "json": b'{"captions": [" "]}'}
    path = write_shard(tmp_path / "0.tar", [members] * 4)
    file, _ = sealed(tmp_path, [(0, path)], [4], captioning=Captioning("texts"))

    with pytest.raises(InputError, match=r"0\.tar, row 0: .*no caption"):
        epochs(training_data((Sealed(file), {0: path}), clip))
