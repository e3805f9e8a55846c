import pytest
import torch
from plaincosines import plain_cosines

from clipaudit.neighbors.screening import (
    PRECISIONS,
    error_bound,
    fastest,
    flip_negatives,
    floor_codes,
    rounded,
    row_norms,
    values,
)

each_precision = pytest.mark.parametrize("precision", PRECISIONS.values(), ids=PRECISIONS)


@each_precision
def test_codes_have_the_order_of_the_numbers(precision):
    numbers = torch.tensor([-2.0, -0.5, -1e-7, 0.0, 1e-7, 0.5, 2.0], dtype=precision.floating)
    codes = numbers.view(precision.integer).clone()

    flip_negatives(codes)

    assert (codes.diff() > 0).all()
    torch.testing.assert_close(values(codes, precision), numbers.double(), rtol=0, atol=0)


@each_precision
def test_floor_codes_never_exceed_the_number(precision):
    numbers = torch.linspace(-1.5, 1.5, 1001, dtype=torch.float64)
    numbers = torch.cat([numbers, torch.tensor([-torch.inf, 1e-9, -1e-9], dtype=torch.float64)])

    floor = values(floor_codes(numbers, precision)[:-3], precision)

    assert (floor <= numbers[:-3]).all()
    assert (floor_codes(numbers, precision)[-3] < floor_codes(numbers, precision)[:-3]).all()


@each_precision
@pytest.mark.parametrize("scale", [1e-4, 1.0, 3.9])
def test_products_stay_within_the_bound(precision, scale):
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(200, 640, generator=generator).abs() for _ in range(2))
    left, right = ((scale * x / row_norms(x)[:, None]).half() for x in (left, right))
    low = [rounded(x, x.double().square().sum(1), precision) for x in (left, right)]

    screened = (low[0].vectors @ low[1].vectors.T).double()

    exact = torch.from_numpy(plain_cosines(left.numpy(), right.numpy()))
    worst = float((screened - exact).abs().max())
    assert worst <= error_bound(*low, precision)


def test_every_device_has_a_precision():
    assert fastest("cpu") in PRECISIONS.values()
    assert fastest("cuda") == PRECISIONS["float16"]
