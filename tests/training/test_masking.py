import torch
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.training.masking import mask_tokens

START, END = 8, 9


def tokens(words, context=12):
    full = [START, *words, END]
    return torch.tensor(full + [0] * (context - len(full)))


@given(st.lists(st.integers(1, 7), max_size=10), st.floats(0, 0.99), st.integers(0, 99))
def test_masking_keeps_a_subsequence_between_start_and_end(words, share, seed):
    masked = mask_tokens(tokens(words), share=share, end=END, seed=seed).tolist()

    end = masked.index(END)
    rest = iter(words)
    assert masked[0] == START
    assert all(token in rest for token in masked[1:end])
    assert masked[end + 1 :] == [0] * (len(masked) - end - 1)


def test_a_share_of_zero_drops_no_token():
    whole = tokens([1, 2, 3])

    assert torch.equal(mask_tokens(whole, share=0.0, end=END, seed=1), whole)


def test_the_share_is_met_on_average_and_draws_differ():
    whole = tokens([1] * 10)

    kept = [int((mask_tokens(whole, share=0.4, end=END, seed=s) == 1).sum()) for s in range(400)]

    assert 5.8 < sum(kept) / len(kept) < 6.2  # 10 x 0.6, sd of the mean 0.08
    assert len(set(kept)) > 4
