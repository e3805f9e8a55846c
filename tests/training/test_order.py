import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.errors import TooSmall
from clipaudit.training.order import draw, make_plan, steps_of_epochs

KEPT = {0: 10, 1: 0, 2: 25, 3: 4, 5: 30, 8: 11}


def test_the_draw_is_pinned():
    """A changed number means that every trained model changes."""
    assert draw(0, "shard", 3, 7) == 2663666771239132110


@given(st.integers(0, 5), st.integers(1, 2), st.integers(1, 2))
def test_each_shard_with_kept_samples_is_in_one_stream(epoch, processes, workers):
    plan = make_plan(KEPT, batch_size=2, processes=processes, workers=workers, seed=0)

    streams = [plan.shards(epoch, p, w) for p in range(processes) for w in range(workers)]

    assert sorted(shard for stream in streams for shard in stream) == [0, 2, 3, 5, 8]
    assert max(map(len, streams)) - min(map(len, streams)) <= 1


def test_the_order_changes_with_the_epoch_and_the_random_seed():
    kept = dict.fromkeys(range(20), 1)
    plans = [make_plan(kept, batch_size=1, processes=1, workers=1, seed=s) for s in (0, 0, 1)]

    assert plans[0].shards(0, 0, 0) == plans[1].shards(0, 0, 0)
    assert plans[0].shards(0, 0, 0) != plans[0].shards(1, 0, 0)
    assert plans[0].shards(0, 0, 0) != plans[2].shards(0, 0, 0)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_rounds_are_counted_as_the_streams_of_a_process_end(workers):
    plan = make_plan(KEPT, batch_size=4, processes=1, workers=workers, seed=0)
    streams = plan.batches(0, 0)
    rounds = [number for number in range(max(streams)) for each in streams if each > number]

    found = [plan.rounds(0, 0, given)[0] for given in range(len(rounds) + 1)]

    assert found == [*rounds, max(streams)]
    assert plan.rounds(0, 0, 0) == (0, 0)


def test_zero_workers_give_the_same_order_as_one():
    plans = [make_plan(KEPT, batch_size=4, processes=1, workers=w, seed=0) for w in (0, 1)]

    assert plans[0] == plans[1]


def test_the_number_of_steps_is_that_of_the_process_with_fewest_batches():
    plan = make_plan({0: 9, 1: 30}, batch_size=4, processes=2, workers=1, seed=0)

    assert steps_of_epochs(plan, 3) == [2, 2, 2]


def test_a_batch_larger_than_the_kept_samples_is_refused():
    with pytest.raises(TooSmall, match=r"a step needs 82 samples .*keeps 80: make batch_size"):
        make_plan(KEPT, batch_size=41, processes=2, workers=1, seed=0)


def test_fewer_shards_than_streams_are_refused():
    with pytest.raises(TooSmall, match=r"5 shards with kept samples, but 6 streams"):
        make_plan(KEPT, batch_size=2, processes=2, workers=3, seed=0)


def test_streams_too_short_for_a_batch_are_refused():
    plan = make_plan({0: 5, 1: 5}, batch_size=8, processes=1, workers=2, seed=0)

    with pytest.raises(TooSmall, match="epoch 0 has no full batch of 8"):
        steps_of_epochs(plan, 2)
