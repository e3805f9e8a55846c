import numpy as np
import pyarrow as pa
import pytest
from drawnimages import described, described_tests, drawing, flat
from plaincosines import plain_cosines

from clipaudit.copies import candidates
from clipaudit.copies.candidates import Embedded, find_candidates
from clipaudit.copies.hashing import HASHES, IMAGES


def pairs(table, *names):
    columns = ("other_row", "row", *names)
    return [tuple(row[name] for name in columns) for row in table.to_pylist()]


def test_copies_are_found_by_pixels_and_by_hash():
    image = drawing(0)
    darker = (image * 0.7).astype(np.uint8)

    found = find_candidates(
        described_tests([image, drawing(3)]),
        described([darker, drawing(4), image]),
        distance=20,
    )

    assert pairs(found, "same_pixels", "view") == [(0, 0, False, "whole"), (0, 2, True, "whole")]


def test_a_mirrored_and_a_cropped_copy_are_found_by_their_views():
    image = drawing(3)
    cropped = image[8:72, 10:86]

    found = find_candidates(
        described_tests([image]), described([image[:, ::-1], cropped]), distance=30
    )

    assert [row["view"] for row in found.to_pylist()] == ["mirrored", "80% centre"]


def test_a_copy_with_one_half_covered_is_found_by_the_other_half():
    image = drawing(3)
    covered = image.copy()
    covered[50:] = drawing(8)[50:]

    found = find_candidates(described_tests([image]), described([covered]), distance=20)

    assert [row["view"] for row in found.to_pylist()] == ["top half"]


def test_flat_images_are_compared_by_thumbnails():
    tests, own = described_tests([flat(200), flat(90)]), described([flat(203), flat(10)])

    found = find_candidates(tests, own, distance=0)

    assert pairs(found, "distance", "thumbnail_distance") == [(0, 0, None, 192)]


def test_an_encoder_adds_pairs_at_its_similarity_or_above():
    left, right = np.eye(3, 4, dtype=np.float16), np.eye(2, 4, dtype=np.float16)
    right[1] = (0.6, 0.8, 0, 0)
    addresses = np.arange(3)
    exact = float(plain_cosines(right[1:], left[1:2])[0, 0])
    embedded = Embedded("own", (addresses, left), (addresses[:2], right), exact)

    found = find_candidates(
        described_tests([drawing(n) for n in range(3)]),
        described([drawing(n) for n in range(10, 12)]),
        distance=None,
        embedded=[embedded],
    )

    assert pairs(found, "similarity", "encoder") == [(0, 0, 1.0, "own"), (1, 1, exact, "own")]


def test_repeats_pair_with_an_earlier_image_and_equal_ones_only_with_the_first():
    image = drawing(0)
    corpus = described([image, drawing(1), image, image, (image * 0.8).astype(np.uint8)])

    found = find_candidates(corpus, corpus, distance=20, within=True)

    assert pairs(found) == [(0, 2), (0, 3), (0, 4)]


def test_an_encoder_pairs_images_of_equal_pixels_only_with_the_first():
    image = drawing(0)
    corpus = described([image, drawing(3), image, image])
    vectors = np.ones((4, 1), np.float16)
    embedded = Embedded("own", (np.arange(4), vectors), (np.arange(4), vectors), 1.0)

    found = find_candidates(corpus, corpus, distance=None, embedded=[embedded], within=True)

    assert pairs(found) == [(0, 1), (0, 2), (0, 3)]


def test_the_nearest_of_many_candidates_are_kept(monkeypatch, caplog):
    monkeypatch.setattr(candidates, "MOST", 2)
    image = drawing(0)
    tests = [(image * share).astype(np.uint8) for share in (0.7, 1.0, 0.9, 0.8)]

    with caplog.at_level("WARNING"):
        found = find_candidates(described_tests(tests), described([image]), distance=40)

    assert len(found) == 2
    assert 1 in found["other_row"].to_pylist()
    assert "2 candidates left out" in caplog.text


@pytest.mark.parametrize("room", [0, 5, 20])
@pytest.mark.parametrize("within", [False, True])
def test_searching_in_halves_changes_no_candidate(monkeypatch, room, within):
    monkeypatch.setattr(candidates, "MOST", 2)
    drawn = [drawing(seed % 3) for seed in range(5)] + [flat(200 + n // 2) for n in range(6)]
    own, others = described(drawn), described(drawn[::-1])
    sides = (own if within else others, own)
    addresses, vectors = np.arange(11), np.eye(2, dtype=np.float16)[np.arange(11) % 2]
    embedded = Embedded("own", (addresses, vectors), (addresses, vectors), 0.5)
    options = {"distance": 30, "embedded": [embedded], "within": within}
    whole = find_candidates(*sides, **options)

    monkeypatch.setattr(candidates, "ROOM", room)

    assert find_candidates(*sides, **options).equals(whole)


def test_an_encoder_finds_nothing_in_an_empty_test_set():
    nothing = candidates.Described(IMAGES.empty_table(), HASHES.empty_table())
    none, some = np.empty((0, 1), np.float16), np.ones((1, 1), np.float16)
    embedded = Embedded("own", (np.arange(0), none), (np.arange(1), some), 0.5)

    found = find_candidates(nothing, described([drawing(0)]), distance=None, embedded=[embedded])

    assert len(found) == 0


@pytest.mark.parametrize("side", ["tests", "train", "both"])
def test_an_empty_side_gives_no_candidates(side):
    nothing = candidates.Described(IMAGES.empty_table(), HASHES.empty_table())
    something = described_tests([drawing(0)])
    tests = nothing if side != "train" else something
    train = nothing if side != "tests" else something

    found = find_candidates(tests, train, distance=256)

    assert found.schema == candidates.CANDIDATES
    assert len(found) == 0


def test_splitting_into_parts_changes_no_candidate():
    drawn = [drawing(seed % 5) for seed in range(12)]
    tests = described_tests(drawn[:4])
    whole = described(drawn)
    pieces = [
        candidates.Described(
            whole.images.slice(start, 5),
            whole.hashes.filter(
                pa.array([start <= row < start + 5 for row in whole.hashes["row"].to_pylist()])
            ),
        )
        for start in (0, 5, 10)
    ]

    cut = pa.concat_tables([find_candidates(tests, piece, distance=30) for piece in pieces])

    assert cut.equals(find_candidates(tests, whole, distance=30))
