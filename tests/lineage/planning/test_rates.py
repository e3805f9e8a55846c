from itertools import starmap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.errors import ConfigError
from clipaudit.lineage.planning.observations import Given, Observation
from clipaudit.lineage.planning.rates import Line, Rates, line_through, read_stated

WORK = st.integers(min_value=0, max_value=1_000_000).map(float)
TAKEN = st.floats(min_value=0, max_value=1e6)
POINTS = st.lists(st.tuples(WORK, TAKEN), min_size=1)


def observed(work=10.0, seconds=5.0, device="cpu", model="", rows=10.0, size=100.0):
    table = Given(rows=rows, rows_grow=work, bytes=size, bytes_grow=work)
    return Observation("embed", model, device, work, seconds, 50, {"table": table})


@given(POINTS)
def test_a_fitted_line_gives_the_observed_total(points):
    line = line_through(points)

    expected = sum(taken for _, taken in points)
    assert sum(line.at(work) for work, _ in points) == pytest.approx(expected, rel=1e-3, abs=1e-3)


@given(POINTS)
def test_no_line_decreases_or_starts_below_zero(points):
    line = line_through(points)

    assert line.start >= 0
    assert line.slope >= 0


def test_a_fixed_cost_is_distinguished_from_a_slope():
    line = line_through([(10.0, 7.0), (20.0, 12.0), (40.0, 22.0)])

    assert (line.start, line.slope) == pytest.approx((2.0, 0.5))


def test_equal_jobs_reveal_no_fixed_cost():
    assert line_through([(10.0, 4.0), (10.0, 6.0)]) == Line(0.0, 0.5)


def test_a_cpu_rate_says_nothing_about_a_gpu():
    rates = Rates([observed(device="cpu"), observed(device="")])

    assert rates.time("embed", "", "cuda") is None
    assert rates.time("embed", "", "cpu").records == 2
    assert rates.measured_on("embed", "") == ["cpu"]


def test_one_model_says_nothing_about_the_time_and_size_of_another():
    rates = Rates([observed(model="ViT-B-32")])

    assert rates.time("embed", "ViT-L-14", "cpu") is None
    assert rates.bytes("embed", "ViT-L-14", "table") is None


def test_rows_and_the_bytes_of_tables_are_the_same_for_all_models_and_devices():
    rates = Rates([observed(model="ViT-B-32", device="cuda", rows=5.0)])

    assert rates.rows("embed", "table") == 0.5
    assert rates.bytes("embed", None, "table").at(20) == 200


def test_a_rate_stated_by_the_user_comes_first(tmp_path):
    path = tmp_path / "rates.yaml"
    path.write_text("embed: {device: cpu, per_second: 4, bytes_each: 7}\n")

    rates = Rates([observed()], read_stated(path))

    assert rates.time("embed", "any", "cpu").line.at(8) == 2.0
    assert rates.stated_bytes("embed", "any") == 7


def test_a_stated_rate_of_one_model_applies_to_no_other(tmp_path):
    path = tmp_path / "rates.yaml"
    path.write_text("embed:\n  - {model: ViT-B-32, device: cuda, per_second: 4}\n")
    rates = Rates([], read_stated(path))

    found = list(starmap(rates.time, [("embed", "ViT-B-32", "cuda"), ("embed", "RN50", "cuda")]))

    assert [rate is not None for rate in found] == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("embed: {device: tpu, per_second: 1}", "embed.0.device: Input should be 'cpu' or 'cuda'"),
        ("embed: {device: cpu}", "embed.0.per_second: Field required"),
        ("embed: {device: cpu, per_second: 0}", "embed.0.per_second: Input should be greater"),
        ("embed: 5", "embed: Input should be a valid list"),
    ],
)
def test_wrong_rates_are_named(tmp_path, text, message):
    path = tmp_path / "rates.yaml"
    path.write_text(text)

    with pytest.raises(ConfigError, match=rf"{path}: the rates are invalid:\n  {message}"):
        read_stated(path)
