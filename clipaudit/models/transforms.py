"""Cuts open_clip's and timm's transforms in two: image to pixels, and the arithmetic after it."""

from collections.abc import Mapping, Sequence
from typing import Any

from open_clip.transform import MaybeToTensor, PreprocessCfg, image_transform_v2
from torchvision.transforms import InterpolationMode, RandomHorizontalFlip, RandomResizedCrop

from clipaudit.models.preparation import Preparation


def evaluation_preparation(settings: PreprocessCfg) -> Preparation:
    """Return open_clip's inference transform for `settings`."""
    return _open_clips(image_transform_v2(settings, is_train=False).transforms, settings)


def training_preparation(
    settings: PreprocessCfg, *, crop_scale: tuple[float, float]
) -> Preparation:
    """Return open_clip's training transform: a random resized crop of `crop_scale` of the area."""
    transform = image_transform_v2(settings, is_train=True, aug_cfg={"scale": crop_scale})
    return _open_clips(transform.transforms, settings)


def timm_preparation(settings: Mapping[str, Any]) -> Preparation:
    """Return timm's inference transform for what timm.data.resolve_model_data_config gives."""
    from timm.data.transforms import MaybeToTensor as TimmToTensor
    from timm.data.transforms_factory import create_transform

    steps = create_transform(**settings, is_training=False).transforms
    return _timms(_before(TimmToTensor, steps), settings)


def timm_training_preparation(
    settings: Mapping[str, Any], *, crop_scale: tuple[float, float], flip: bool
) -> Preparation:
    """Return pytorch/examples' training transform, at timm's size, mean and deviation.

    It is a random resized crop of `crop_scale` of the area, then, with `flip`, half of them are
    mirrored. It is torchvision's, since timm's draws crops from Python's generator, not torch's.
    """
    size = settings["input_size"][1:]
    crop = RandomResizedCrop(size, scale=crop_scale, interpolation=InterpolationMode.BILINEAR)
    return _timms((crop, RandomHorizontalFlip()) if flip else (crop,), settings)


def _open_clips(steps: Sequence[Any], settings: PreprocessCfg) -> Preparation:
    size = settings.size if isinstance(settings.size, tuple | list) else (settings.size,) * 2
    mean, deviation = tuple(settings.mean), tuple(settings.std)
    return Preparation(_before(MaybeToTensor, steps), mean, deviation, (size[0], size[1]))


def _timms(steps: tuple[Any, ...], settings: Mapping[str, Any]) -> Preparation:
    _, height, width = settings["input_size"]
    return Preparation(steps, tuple(settings["mean"]), tuple(settings["std"]), (height, width))


def _before(to_tensor: type, steps: Sequence[Any]) -> tuple[Any, ...]:
    """Return the steps of a library's list before images become tensors."""
    border = next(at for at, step in enumerate(steps) if isinstance(step, to_tensor))
    assert len(steps) == border + 2, "a transform ends in to-tensor and normalize"
    return tuple(steps[:border])
