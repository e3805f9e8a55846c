"""Builds timm classifiers from a recipe, or loads them from a checkpoint, without pickled code.

A classifier comes with the preparation of its images. Its outputs are the classes of a label set,
in that order. Weights are read from safetensors, or by torch.load(weights_only=True).
"""

import difflib
import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import timm
import torch
from safetensors import SafetensorError
from timm.data.config import resolve_model_data_config
from timm.data.constants import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD
from timm.models import PretrainedCfg, get_arch_name, get_pretrained_cfg, load_state_dict

from clipaudit.config.supervised import Classifier, SupervisedRecipe
from clipaudit.errors import ConfigError, InputError
from clipaudit.models.clip import load_weights
from clipaudit.models.image_classifier import ImageClassifier
from clipaudit.models.preparation import Preparation
from clipaudit.models.transforms import timm_preparation, timm_training_preparation

# errors of timm and torch for arguments that do not make a model, or not for such images
REFUSALS = (AssertionError, AttributeError, KeyError, RuntimeError, TypeError, ValueError)
# errors of reading a file that is not a checkpoint, or contains code
UNREADABLE = (RuntimeError, SafetensorError, pickle.UnpicklingError, EOFError, AttributeError)


# --- trained here ---------------------------------------------------------------------------------


def build(recipe: SupervisedRecipe, *, classes: int) -> ImageClassifier:
    """Return a classifier with random weights that depend only on the recipe and `classes`.

    Raises ConfigError if timm's registry has no such model, or if it refuses the arguments or the
    size of the images. torch's own random state is restored.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        sized = (
            {"img_size": recipe.image_size} if known_model(recipe.model).fixed_input_size else {}
        )
        arguments = {"num_classes": classes, **sized, **recipe.model_arguments}
        model = create(recipe.model, arguments)
    _require_logits(model, recipe, classes)
    return ImageClassifier(model, timm_preparation(_data_settings(recipe)), classes)


def training_preparation(recipe: SupervisedRecipe) -> Preparation:
    """Return the preparation for training: images are cropped, and mirrored if the recipe flips."""
    settings = _data_settings(recipe)
    return timm_training_preparation(settings, crop_scale=recipe.crop_scale, flip=recipe.flip)


def _require_logits(model: torch.nn.Module, recipe: SupervisedRecipe, classes: int) -> None:
    """Raise ConfigError for arguments with which timm's model gives no logits for such images."""
    side = recipe.image_size
    try:
        with torch.no_grad():  # not inference mode: a model may keep what it computes
            shape = tuple(model.eval()(torch.zeros(1, 3, side, side)).shape)
    except REFUSALS as error:
        shape, cause = (), f"{error}"
    else:
        cause = f"its output is {shape}, expected one row of {classes} logits"
    if shape != (1, classes):
        raise ConfigError(
            f"{recipe.model} with {recipe.model_arguments} does not classify images of {side} x "
            f"{side}: {cause}. Correct model_arguments or image_size."
        )


def _data_settings(recipe: SupervisedRecipe) -> dict[str, Any]:
    """Return the settings of pytorch/examples, in timm's terms, at the recipe's size and crop."""
    return {
        "input_size": (3, recipe.image_size, recipe.image_size),
        "interpolation": "bilinear",
        "mean": IMAGENET_DEFAULT_MEAN,
        "std": IMAGENET_DEFAULT_STD,
        "crop_pct": recipe.evaluation_crop,
        "crop_mode": "center",
    }


# --- loading --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassifierSettings:
    """A classifier trained here by a recipe, or one that the settings name."""

    recipe: SupervisedRecipe | None
    classifier: Classifier | None

    def load(self, weights: Sequence[Path], *, classes: int) -> ImageClassifier:
        """Return the classifier.

        `weights` are the files that the workflow passes: one for a recipe and for a local
        checkpoint, none for timm's own weights.
        """
        if self.recipe is not None:
            built = build(self.recipe, classes=classes)
            load_weights(built.model, weights[0])
            return built
        assert self.classifier is not None, "a job names a recipe or a classifier"
        settings = self.classifier
        if settings.checkpoint is not None:
            settings = settings.model_copy(update={"checkpoint": str(weights[0])})
        return load(settings, classes=classes)


def load(settings: Classifier, *, classes: int) -> ImageClassifier:
    """Return a classifier that was not trained here, with timm's inference transform for it.

    Raises InputError if its weights are neither here nor downloadable, or do not fit, and if the
    number of its outputs is not `classes`, the size of the label set.
    """
    if settings.checkpoint is not None:
        model, place = _with_checkpoint(settings, Path(settings.checkpoint)), settings.checkpoint
    else:
        model, place = _pretrained(settings), settings.model
    if model.num_classes != classes:
        raise InputError(
            f"{place}: the classifier has {model.num_classes} outputs, but the label set has "
            f"{classes} classes. It must be trained on the classes of the label set, in its order."
        )
    data = resolve_model_data_config(  # type: ignore[no-untyped-call]
        model, args=settings.model_arguments
    )
    if settings.checkpoint is not None:
        refuse_other_preparation(
            Path(settings.checkpoint), settings.model, data, settings.model_arguments
        )
    return ImageClassifier(model, timm_preparation(data), classes)


def refuse_other_preparation(
    path: Path, model: str, data: Mapping[str, Any], arguments: Mapping[str, Any]
) -> None:
    """Raise InputError if timm's config.json beside weights states another preparation.

    `data` are timm's settings of `model`. A size among its `arguments` is the user's choice.
    """
    try:
        config = json.loads((path.parent / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    stated = config.get("pretrained_cfg") if isinstance(config, dict) else None
    if not isinstance(stated, dict):
        return
    ours = json.loads(json.dumps(data))  # lists, as in the file
    chosen = {"input_size"} if "img_size" in arguments else set()
    other = [
        f"{name} {stated[name]} (that of {model}: {ours[name]})"
        for name in ours
        if name not in chosen and stated.get(name) not in (None, ours[name])
    ]
    if other:
        tagged = ".".join(filter(None, (get_arch_name(model), stated.get("tag"))))
        raise InputError(
            f"{path}: config.json beside it states another preparation of images: "
            f"{', '.join(other)}. Name the model with the tag of its weights ({tagged}), "
            f"or move config.json away to prepare images as for {model}."
        )


def _pretrained(settings: Classifier) -> torch.nn.Module:
    name = settings.model
    known_model(name)
    if not timm.models.is_model_pretrained(name):
        raise InputError(f"{name}: timm has no weights for it. It has {_tags(name)}.")
    try:
        return create(name, settings.model_arguments, pretrained=True)
    except (OSError, SafetensorError, pickle.UnpicklingError) as error:
        raise InputError(
            f"{name}: not in the hub cache and not downloadable ({error}). Download it on a "
            "machine with a network and set HF_HOME, or give the path of a `checkpoint`."
        ) from error


def _with_checkpoint(settings: Classifier, path: Path) -> torch.nn.Module:
    """Return the model with a file's weights, and as many outputs as these have."""
    if not path.is_file():
        raise InputError(f"{path}: no such checkpoint of {settings.model}. Correct the path.")
    try:
        weights = load_state_dict(str(path), weights_only=True)
    except UNREADABLE as error:
        raise InputError(f"{path}: not a checkpoint of only weights: {error}") from error
    heads = known_model(settings.model).classifier or "fc"
    head = f"{heads if isinstance(heads, str) else heads[0]}.weight"
    if head not in weights:
        raise InputError(f"{path}: has no {head}, so it is not a checkpoint of {settings.model}.")
    model = create(settings.model, {"num_classes": len(weights[head]), **settings.model_arguments})
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:  # torch's message gives the names and both shapes
        raise InputError(f"{path}: its weights do not fit {settings.model}: {error}") from error
    return model


# --- timm -----------------------------------------------------------------------------------------


def known_model(name: str) -> PretrainedCfg:
    """Return timm's configuration of a model in its registry; raise ConfigError for others."""
    if not timm.is_model(name):
        close = difflib.get_close_matches(get_arch_name(name), timm.list_models(), n=1)
        guess = f" Did you mean {close[0]}?" if close else ""
        raise ConfigError(f"timm has no model {name!r}.{guess} timm.list_models() lists all.")
    try:
        return get_pretrained_cfg(name) or PretrainedCfg()
    except RuntimeError as error:
        raise ConfigError(f"timm has no {name}: {error} It has {_tags(name)}.") from error


def _tags(name: str) -> str:
    return ", ".join(timm.list_pretrained(f"{get_arch_name(name)}.*")) or "none with weights"


def create(name: str, arguments: Mapping[str, Any], *, pretrained: bool = False) -> torch.nn.Module:
    """Return a model of timm's registry; raise ConfigError for arguments that timm refuses."""
    try:
        return timm.create_model(name, pretrained=pretrained, **arguments)
    except REFUSALS as error:
        raise ConfigError(f"timm refuses {name} with {dict(arguments)}: {error}") from error
