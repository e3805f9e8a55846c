import pytest

from clipaudit.lineage.why.conditions import Equation, columns_named, comparisons, equations


@pytest.mark.parametrize("broken", ["dataset =", "1; drop table t", "(", ""])
def test_a_condition_that_cannot_be_parsed_names_nothing(broken):
    assert columns_named(broken) == equations(broken) == comparisons(broken) == []


def test_an_equation_must_hold_wherever_the_condition_does():
    assert equations("k = 10 and (a = 'x' or b = 'y') and not c = 'z'") == [Equation("k", "10")]


def test_a_constant_may_be_on_either_side():
    assert equations("'x' = t.dataset") == [Equation("dataset", "x")]


def test_two_columns_are_not_an_equation():
    assert equations("manifest = baseline") == []
