"""A batch that goes through the model in parts gives the gradients of the whole."""

import pytest
import torch
from tinyclip import tiny

from clipaudit.config.training import Recipe
from clipaudit.errors import StepError
from clipaudit.models.clip import build
from clipaudit.training.optimization import prepare
from clipaudit.training.processes import Processes

RECIPE = Recipe(architecture="tiny", batch_size=10, warmup_steps=0)
PATCHES = {"image_size": 32, "patch_size": 8, "width": 16, "layers": 1, "head_width": 16}
CPU = torch.device("cpu")


def work_of(folder, at_once, **recipe):
    clip = build(tiny(folder, vision_cfg=PATCHES), seed=0)
    chosen = RECIPE.model_copy(update=recipe)
    work = prepare(clip.model, chosen, steps=5, processes=Processes(), device=CPU, at_once=at_once)
    images = torch.randn(10, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    return work, images, clip.tokenizer([f"a picture of {number}" for number in range(10)])


def gradients(folder, at_once, **recipe):
    """Return the loss and the gradient of every weight, as a step leaves them."""
    work, images, tokens = work_of(folder, at_once, **recipe)
    loss, _, _ = work.step(0, images, tokens)
    return loss, {name: weight.grad for name, weight in work.model.named_parameters()}


@pytest.mark.parametrize("at_once", [1, 3, 5, 9, 10, 64])
def test_gradients_of_parts_add_up_to_those_of_the_batch(tmp_path, at_once):
    loss, whole = gradients(tmp_path, None)
    found, parts = gradients(tmp_path, at_once)

    torch.testing.assert_close(found, loss)
    assert whole["logit_scale"] != 0
    for name, gradient in whole.items():
        torch.testing.assert_close(parts[name], gradient, rtol=1e-4, atol=1e-6, msg=name)


def test_a_batch_in_one_part_gives_the_same_bits(tmp_path):
    _, whole = gradients(tmp_path, None)
    _, parts = gradients(tmp_path, 10)

    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_a_batch_that_exceeds_memory_gives_an_error_with_the_resource(tmp_path):
    work, images, tokens = work_of(tmp_path, None)

    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory.")
        yield

    work.losses = full

    with pytest.raises(StepError, match=r"step of 10 samples .* out of memory.* `at_once`"):
        work.step(0, images, tokens)
