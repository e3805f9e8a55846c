from dataclasses import dataclass

import pytest

from clipaudit.parrot.settings import Spotting
from clipaudit.similarity.orders import Order
from clipaudit.steps.step import Step


@dataclass(frozen=True)
class Params:
    values: dict
    code: str = "0" * 64

    def items(self):
        return self.values.items()

    def get(self, name, default=None):
        return self.values.get(name, default)


@pytest.fixture
def step(tmp_path):
    """Return a function: the step of a rule with these params."""

    class Job:
        rule, threads, input, output, resources, wildcards = "spot", 1, {}, {}, {}, {}
        config = {"results": str(tmp_path / "results"), "store": str(tmp_path / "store")}  # noqa: RUF012

    def build(**params):
        job = Job()
        job.params = Params(params)
        return Step(job)

    return build


def test_a_section_is_returned_as_the_model_that_checked_it(step):
    asked = Spotting(text_score=0.8)

    assert step(spotting=asked.model_dump(mode="json")).settings_as(Spotting, "spotting") == asked


def test_derived_settings_are_returned_as_dataclasses_and_lists_of_them(step):
    job = step(kind="near", test_sets=["val"], seed=3)
    several = step(orders=[{"kind": "rand"}, {"kind": "far"}])

    assert job.settings_as(Order) == Order("near", ["val"], 3)
    assert [each.kind for each in several.settings_list(Order, "orders")] == ["rand", "far"]


def test_reading_a_section_does_not_change_the_key(step):
    job = step(spotting=Spotting().model_dump(mode="json"))
    before = job.key

    job.settings_as(Spotting, "spotting")

    assert job.ingredients.key() == before
