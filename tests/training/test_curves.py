import pytest
import torch

from clipaudit.errors import StepError
from clipaudit.training.curves import CURVES, Curves


def noted(losses):
    curves = Curves()
    for step, loss in enumerate(losses):
        curves.add(
            step=step,
            epoch=step // 2,
            samples_seen=8 * (step + 1),
            loss=torch.tensor(loss),
            logit_scale=torch.tensor(14.5),
            learning_rate=0.25,
        )
    return curves


def test_each_step_has_one_row():
    table = noted([1.5, 0.5, 0.25]).table()

    assert table.schema == CURVES
    assert table.to_pylist()[2] == {
        "step": 2,
        "epoch": 1,
        "samples_seen": 24,
        "loss": 0.25,
        "logit_scale": 14.5,
        "learning_rate": 0.25,
    }


def test_the_state_restores_all_rows():
    curves = noted([1.5, 0.5])

    assert Curves(curves.state()).table() == curves.table()


def test_a_non_finite_loss_stops_the_training():
    with pytest.raises(StepError, match=r"step 1: the loss is nan\. Lower"):
        noted([1.5, float("nan"), 1.0]).settle()


def test_no_steps_give_an_empty_table():
    assert Curves().table().num_rows == 0
