from pathlib import Path

import pytest
from open_clip_train.params import parse_args
from pydantic import ValidationError

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.config.supervised import SupervisedRecipe
from clipaudit.config.training import Encoder, Recipe

EXAMPLES = Path(__file__).parents[2] / "config"


def test_a_checkpoint_of_a_model_trained_here_can_be_named():
    assert Encoder(model="base/large").epoch is None
    assert Encoder(model="base/large", epoch=2).epoch == 2


@pytest.mark.parametrize("source", [{"pretrained": "x", "architecture": "y"}, {"directory": "x"}])
def test_other_encoders_have_no_epochs(source):
    with pytest.raises(ValidationError, match="`epoch` belongs to `model`"):
        Encoder(**source, epoch=1)


@pytest.mark.parametrize("source", [{"model": "base/large"}, {"directory": "x"}])
def test_only_a_checkpoint_from_elsewhere_has_an_architecture(source):
    with pytest.raises(ValidationError, match="`architecture` belongs to `pretrained`"):
        Encoder(**source, architecture="y")


def test_epochs_of_a_checkpoint_count_from_one():
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        Encoder(model="base/large", epoch=0)


def test_captions_are_drawn_at_random_unless_the_first_is_requested():
    assert Recipe(architecture="tiny").caption_choice == "random"
    with pytest.raises(ValidationError, match="'random' or 'first'"):
        Recipe(architecture="tiny", caption_choice="last")


@pytest.mark.parametrize("model", [Recipe, SupervisedRecipe])
def test_a_crop_is_a_share_of_the_image(model):
    with pytest.raises(ValidationError, match="give 0 < least <= most <= 1"):
        model(architecture="tiny", crop_scale=(1, 0.5))


def test_a_fixed_logit_scale_is_above_zero():
    with pytest.raises(ValidationError, match="greater than 0"):
        Recipe(architecture="tiny", logit_scale=0)


def test_a_batch_has_two_samples_to_compare():
    assert Recipe(architecture="tiny", batch_size=2).batch_size == 2
    with pytest.raises(ValidationError, match="greater than or equal to 2"):
        Recipe(architecture="tiny", batch_size=1)


@pytest.mark.parametrize("file", sorted(path.name for path in EXAMPLES.glob("*.yaml")))
def test_examples_train_named_models_with_the_optimizer_of_open_clip_and_the_papers(file):
    run = parse_settings(read_settings(EXAMPLES / file))

    for recipe in run.recipes.values():
        name = run.architectures[recipe.architecture].open_clip
        if name is not None:
            stock = parse_args(["--model", name])
            assert (recipe.beta1, recipe.epsilon) == (stock.beta1, stock.eps), name
            assert recipe.beta2 == 0.98  # open_clip's for ViT; the parrot paper's for all models
