"""Defines the built-in image encoders: any vision model of timm or transformers.

They are plug-ins like others. Weights are read from local files or the hub cache, without network
and without code of the checkpoint.
"""

import inspect
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float32, UInt8
from PIL import Image

from clipaudit.errors import ConfigError, InputError
from clipaudit.models.checkpoints import checkpoint_folder, load_with_processor, refuse_gaps
from clipaudit.models.transforms import timm_preparation

WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # in timm's hub folders
CLASS_TOKENS = ("cls_token", "class_embedding")  # in models of transformers
Output = Literal["pooled", "cls", "mean"]
RADIO_ALIGNED = ("base_patch16_radio_v3", "huge_patch16_radio_v3")  # timm's _RADIO_ALIGN_CORNERS


class Timm:
    """A timm model without its head, such as DINOv2, with timm's own preparation of images."""

    def __init__(
        self,
        *,
        model: str,
        checkpoint: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        device: str,
    ) -> None:
        """Load timm's model `model`.

        `checkpoint` is a file with weights; if absent, they come from the hub cache. `arguments`
        are passed on to timm, such as {img_size: 224}. Raises ConfigError or InputError.
        """
        from timm.data.config import resolve_model_data_config
        from timm.models import load_state_dict

        from clipaudit.config.supervised import DECIDED_ELSEWHERE
        from clipaudit.models.classifiers import (
            REFUSALS,
            UNREADABLE,
            create,
            known_model,
            refuse_other_preparation,
        )

        given = dict(arguments or {})
        taken = [name for name in given if name in DECIDED_ELSEWHERE]
        if taken:
            raise ConfigError(f"options.arguments: {', '.join(taken)} is set here; remove it")
        hub_name = known_model(model).hf_hub_id
        path = Path(checkpoint) if checkpoint else _cached(model, hub_name)
        if not path.is_file():
            raise InputError(f"{path}: no such checkpoint of {model}. Correct the path.")
        made = create(model, {**given, "num_classes": 0})
        try:
            weights = load_state_dict(str(path), weights_only=True)
        except UNREADABLE as error:
            raise InputError(f"{path}: not a checkpoint of only weights: {error}") from error
        try:
            report = made.load_state_dict(_adapted(weights, made), strict=False)
        except REFUSALS as error:  # torch's message gives the names and both shapes
            raise InputError(f"{path}: its weights do not fit {model}: {error}") from error
        gaps = {"missing_keys": report.missing_keys, "mismatched_keys": []}
        refuse_gaps(str(path), gaps, kind=f"for {model}")
        settings = resolve_model_data_config(made, args=given)  # type: ignore[no-untyped-call]
        if checkpoint:
            refuse_other_preparation(path, model, settings, given)
        self._preparation = timm_preparation(settings)
        self._device = torch.device(device)
        self._model = made.to(self._device).eval()

    def embed(self, pictures: Sequence[UInt8[np.ndarray, "_ _ 3"]]) -> Float32[np.ndarray, "n d"]:
        """Return the pooled features of the images."""
        prepared = [self._preparation.pixels(Image.fromarray(each)) for each in pictures]
        with torch.inference_mode():
            batch = self._preparation.tensor(torch.from_numpy(np.stack(prepared)), self._device)
            return np.asarray(self._model(batch).float().cpu().numpy())


def _adapted(weights: Mapping[str, Any], made: Any) -> Mapping[str, Any]:  # noqa: ANN401
    """Return weights of another version, or for images of another size, as timm converts them.

    By their names, timm resamples positions and patches of FlexiViT and RADIO without antialias,
    and renames the scales of DeiT-3's layers.
    """
    module, name = type(made).__module__, made.pretrained_cfg["architecture"]
    convert = getattr(sys.modules[module], "checkpoint_filter_fn", None)
    if convert is None:
        return weights
    options: dict[str, Any] = {}
    if module == "timm.models.vision_transformer" and ("flexi" in name or "radio" in name):
        options = {"interpolation": "bilinear", "antialias": False}
        if "radio" in name:
            options["align_corners"] = any(each in name for each in RADIO_ALIGNED)
    elif name.startswith("deit3"):
        options = {"adapt_layer_scale": True}
    converted: Mapping[str, Any] = convert(weights, made, **options)
    return converted


def _cached(model: str, hub_name: str | None) -> Path:
    """Return the weights of a model in the hub cache."""
    if hub_name is None:
        raise InputError(
            f"{model}: timm lists no hub weights for it. Give a file as options.checkpoint, "
            "or a name with a tag, such as vit_small_patch14_dinov2.lvd142m."
        )
    folder = checkpoint_folder(hub_name)
    found = [folder / name for name in WEIGHTS if (folder / name).is_file()]
    if not found:
        raise InputError(f"{folder}: has none of {', '.join(WEIGHTS)}. Download {hub_name} again.")
    return found[0]


class Transformers:
    """A vision model of transformers with its image processor."""

    def __init__(self, *, checkpoint: str, output: Output = "pooled", device: str) -> None:
        """Load a folder or a name in the hub cache.

        `output` chooses the pooled output, the class token of the last layer, or the mean of its
        tokens. For a model of images and text, such as CLIP, the vision model is used.
        """
        from transformers import AutoModel

        if output not in get_args(Output):
            raise ConfigError(f"options.output: {output!r}; give pooled, cls or mean")
        model, self._processor, report = load_with_processor(AutoModel, checkpoint, kind="vision")
        pooler = "" if output == "pooled" else "pooler."  # classifiers have no weights of a pooler
        refuse_gaps(checkpoint, report, kind="that was trained to embed images", unused=pooler)
        self._in_order = 0  # patches that a masked autoencoder is told to keep, in their order
        if model.config.model_type == "vit_mae":  # else it leaves out 3 of 4 patches at random
            model.config.mask_ratio = 0.0
            self._in_order = model.embeddings.patch_embeddings.num_patches
        self._place, self._output = checkpoint, output
        self._device = torch.device(device)
        self._model = getattr(model, "vision_model", model).to(self._device).eval()
        names = [name.rpartition(".")[2] for name, _ in self._model.named_parameters()]
        self._other_output = "cls" if any(name in CLASS_TOKENS for name in names) else "mean"
        if output == "cls" and self._other_output != "cls":
            raise ConfigError(
                f"{checkpoint}: the model has no class token, its first token is a corner of the "
                "image. Set options.output to pooled, or to mean if it has no pooled output."
            )
        self._taken = inspect.signature(self._model.forward).parameters  # some also take masks

    def embed(self, pictures: Sequence[UInt8[np.ndarray, "_ _ 3"]]) -> Float32[np.ndarray, "n d"]:
        """Return the chosen output for the images."""
        prepared = self._processor(
            images=list(pictures), return_tensors="pt", input_data_format="channels_last"
        )
        with torch.inference_mode():
            taken = [name for name in prepared if name in self._taken]
            asked = {name: prepared[name].to(self._device) for name in taken}
            if self._in_order:
                asked["noise"] = torch.arange(self._in_order).expand(len(pictures), -1)
            given = self._model(**asked)
            if self._output == "cls":
                chosen = given.last_hidden_state[:, 0]
            elif self._output == "mean":
                chosen = given.last_hidden_state.mean(dim=1)
            elif getattr(given, "pooler_output", None) is not None:
                chosen = given.pooler_output.flatten(1)
            else:
                raise ConfigError(
                    f"{self._place}: the model has no pooled output. Set options.output to "
                    f"{self._other_output}."
                )
            return np.asarray(chosen.float().cpu().numpy())
