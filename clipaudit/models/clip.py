"""Builds open_clip models from settings, or loads them from a checkpoint, without pickled code.

A model comes with its tokenizer and the preparation of its images. Weights are read from
safetensors, or by torch.load(weights_only=True), which runs no code from the file.
"""

import copy
import difflib
import gzip
import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import open_clip
import torch
from open_clip.factory import load_checkpoint, load_state_dict
from open_clip.model import (
    CLIP,
    CustomTextCLIP,
    convert_to_custom_text_state_dict,
    set_model_preprocess_cfg,
)
from open_clip.pretrained import (
    download_pretrained,
    get_pretrained_cfg,
    list_pretrained_tags_by_model,
)
from open_clip.transform import PreprocessCfg, merge_preprocess_dict
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from clipaudit.config.training import Architecture
from clipaudit.errors import ConfigError, InputError
from clipaudit.models.tokenizers import (
    Definition,
    Tokenizer,
    own_vocabulary,
    plain_tokenizer,
    refuse_code,
)
from clipaudit.plaintext import plain

DIRECTORY_CONFIG = "open_clip_config.json"
DIRECTORY_WEIGHTS = (  # in order of preference; the names that open_clip writes
    "open_clip_model.safetensors",
    "open_clip_pytorch_model.safetensors",
    "open_clip_pytorch_model.bin",
)
DIFFERENCES_SHOWN = 5
# errors of open_clip and torch about a definition
_REFUSALS = (AssertionError, AttributeError, KeyError, RuntimeError, TypeError, ValueError)

Precision = Literal["fp32", "amp_bf16"]


@dataclass(frozen=True)
class Clip:
    """A CLIP model with its tokenizer and preparation."""

    model: torch.nn.Module
    tokenizer: Tokenizer
    preprocessing: PreprocessCfg
    dimension: int
    precision: Precision = "fp32"  # in which it embeds

    def autocast(self, device: torch.device) -> torch.autocast:
        """Return the context in which the model embeds on a device."""
        enabled = self.precision == "amp_bf16"
        return torch.autocast(device.type, torch.bfloat16, enabled=enabled)


# --- devices --------------------------------------------------------------------------------------


# --- building -------------------------------------------------------------------------------------


def build(architecture: Architecture, *, seed: int) -> Clip:
    """Return a model with random weights that depend only on the architecture and the seed.

    They are the weights that open_clip_train starts from with this seed, except that it starts a
    text tower of transformers from that tower's own weights. torch's own random state is restored.
    """
    definition, tokenizer = _define(architecture)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _assemble(definition, tokenizer, asdict(PreprocessCfg()))


def _define(architecture: Architecture) -> tuple[Definition, Tokenizer]:
    if architecture.open_clip is not None:
        definition = _named_definition(architecture.open_clip)
    else:
        assert architecture.definition is not None  # Architecture's own validator
        definition = copy.deepcopy(architecture.definition)
    kinds = {"embed_dim": int, "text_cfg": dict, "vision_cfg": dict}
    missing = [name for name, kind in kinds.items() if not isinstance(definition.get(name), kind)]
    if missing:
        raise ConfigError(
            f"the architecture's definition has no {', '.join(missing)}: "
            "it needs embed_dim, vision_cfg and text_cfg, as in open_clip's model configs"
        )
    if architecture.vocabulary is not None:
        return definition, own_vocabulary(definition["text_cfg"], Path(architecture.vocabulary))
    return definition, plain_tokenizer(definition["text_cfg"], None)


def _named_definition(name: str) -> Definition:
    definition = open_clip.get_model_config(name)
    if definition is None:
        close = difflib.get_close_matches(name, open_clip.list_models(), n=1)
        guess = f" Did you mean {close[0]}?" if close else ""
        raise ConfigError(
            f"open_clip has no model {name!r}.{guess} open_clip.list_models() lists all."
        )
    return dict(definition)


def _assemble(
    definition: Definition, tokenizer: Tokenizer, preprocessing: Mapping[str, Any]
) -> Clip:
    """Return the module, as open_clip's create_model does, without its registry and its logging."""
    fields = copy.deepcopy(definition)
    if fields["text_cfg"].get("hf_model_name"):
        refuse_code(fields["text_cfg"]["hf_model_name"])
        fields["text_cfg"]["hf_model_pretrained"] = False  # the checkpoint has all weights
    if "timm_model_name" in fields.get("vision_cfg", {}):
        fields["vision_cfg"]["timm_model_pretrained"] = False  # or it would be downloaded
    custom = fields.pop("custom_text", False) or bool(fields["text_cfg"].get("hf_model_name"))
    if "multimodal_cfg" in fields:
        raise ConfigError("CoCa models (multimodal_cfg) are not supported: name a CLIP model")
    try:
        model = (CustomTextCLIP if custom else CLIP)(**fields, output_dict=True)
    except _REFUSALS as error:  # such as a width that its heads cannot share
        raise ConfigError(f"open_clip refuses the architecture's definition: {error}") from error
    sized = {**preprocessing, "size": model.visual.image_size}
    set_model_preprocess_cfg(model, sized)
    return Clip(model, tokenizer, PreprocessCfg(**sized), int(fields["embed_dim"]))


# --- loading --------------------------------------------------------------------------------------


def from_checkpoint(architecture: Architecture, path: Path) -> Clip:
    """Return a model trained here: `architecture` with the weights of a safetensors file."""
    definition, tokenizer = _define(architecture)
    clip = _assemble(definition, tokenizer, asdict(PreprocessCfg()))
    load_weights(clip.model, path)
    return clip


def from_directory(directory: Path) -> Clip:
    """Return the model of a local folder with open_clip_config.json and its weights."""
    config = _directory_config(directory)
    definition = config["model_cfg"]
    preprocessing = merge_preprocess_dict(asdict(PreprocessCfg()), config.get("preprocess_cfg", {}))
    weights = [directory / name for name in DIRECTORY_WEIGHTS if (directory / name).is_file()]
    if not weights:
        raise InputError(f"{directory}: no weights. Put one of {', '.join(DIRECTORY_WEIGHTS)} in.")
    tokenizer = plain_tokenizer(definition["text_cfg"], directory)
    clip = _assemble(definition, tokenizer, preprocessing)
    _load_foreign(clip.model, weights[0])
    return clip


def _directory_config(directory: Path) -> dict[str, Any]:
    path = directory / DIRECTORY_CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path}: not found. open_clip's push_to_hf_hub writes it.") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    if not isinstance(config, dict) or "text_cfg" not in config.get("model_cfg", {}):
        raise InputError(f"{path}: has no model_cfg with a text_cfg, so no model can be built")
    return config


def from_pretrained(architecture: Architecture, pretrained: str) -> Clip:
    """Return a model with the weights of a file, or of one of open_clip's tags.

    A tag is searched for in the user's hub cache (HF_HOME) and, if there is a network, downloaded
    into it. It also decides the preparation of images and the activation function. A file decides
    neither; raises InputError if the open_clip_config.json beside it states others.
    """
    definition, tokenizer = _define(architecture)
    preprocessing = asdict(PreprocessCfg())
    if Path(pretrained).is_file():
        path = Path(pretrained)
        _refuse_other_config(path, definition, preprocessing)
    else:
        tag = _tag_settings(architecture.open_clip, pretrained)
        preprocessing = merge_preprocess_dict(preprocessing, tag)
        definition["quick_gelu"] = bool(tag.get("quick_gelu", definition.get("quick_gelu", False)))
        path = _cached(tag, f"{architecture.open_clip} {pretrained}")
    clip = _assemble(definition, tokenizer, preprocessing)
    _load_foreign(clip.model, path)
    return clip


def _refuse_other_config(path: Path, definition: Definition, preparation: Definition) -> None:
    """Raise InputError if the config beside a file states another activation or preparation.

    Weights made with QuickGELU also fit a model with GELU, which gives wrong embeddings.
    """
    if not (path.parent / DIRECTORY_CONFIG).is_file():
        return
    config = _directory_config(path.parent)
    stated = bool(config["model_cfg"].get("quick_gelu", False))
    other = [] if stated == bool(definition.get("quick_gelu", False)) else ["quick_gelu"]
    prepared = merge_preprocess_dict(preparation, config.get("preprocess_cfg", {}))
    ours, theirs = (json.loads(json.dumps(each)) for each in (preparation, prepared))
    other += [name for name in ours if name != "size" and ours[name] != theirs[name]]
    if other:
        raise InputError(
            f"{path}: {DIRECTORY_CONFIG} beside it states another {', '.join(other)} than the "
            f"architecture has. Give the folder as `directory` in place of `pretrained`."
        )


def refuse_unknown(name: str, pretrained: str) -> None:
    """Raise an error unless open_clip knows the model, and `pretrained` is a file or a tag of it.

    Whether the weights are on this machine is not looked at.
    """
    _named_definition(name)
    if not Path(pretrained).is_file():
        _tag_settings(name, pretrained)


def _tag_settings(name: str | None, tag: str) -> dict[str, Any]:
    if name is None:
        raise InputError(
            f"{tag}: no such file. An architecture given by its definition takes weights from a "
            "file; open_clip's tags belong to its named models."
        )
    settings: dict[str, Any] = get_pretrained_cfg(name, tag)
    if not settings:
        known = ", ".join(list_pretrained_tags_by_model(name)) or "none"
        raise InputError(f"{tag}: neither a file nor a tag of {name}. Its tags: {known}.")
    return settings


def _cached(tag: dict[str, Any], place: str) -> Path:
    try:
        return Path(download_pretrained(tag))
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{place}: not in the hub cache and not downloadable ({error}). Download it on a "
            "machine with a network and set HF_HOME, or give the path of a checkpoint."
        ) from error


# --- weights --------------------------------------------------------------------------------------


def weights_bytes(model: torch.nn.Module) -> bytes:
    """Return the weights as a safetensors file; equal weights give equal bytes, on any device."""
    weights = {name: each.detach().cpu().contiguous() for name, each in model.state_dict().items()}
    return bytes(save(weights, metadata={"format": "pt"}))


Shape = Sequence[int] | None


def load_weights(model: torch.nn.Module, path: Path) -> None:
    """Load a safetensors file that `weights_bytes` wrote; names and shapes must agree."""
    try:
        weights = load_file(path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such checkpoint. Train the model first.") from error
    except SafetensorError as error:
        raise InputError(f"{path}: not a safetensors file: {error}") from error
    wanted = {name: tuple(each.shape) for name, each in model.state_dict().items()}
    found = {name: tuple(each.shape) for name, each in weights.items()}
    if wanted != found:
        raise InputError(
            f"{path}: its weights do not fit the architecture. {_differences(wanted, found)} "
            "Give the architecture that it was trained with."
        )
    model.load_state_dict(weights)


def _differences(wanted: Mapping[str, Shape], found: Mapping[str, Shape]) -> str:
    """Return what differs, for the first few names.

    >>> _differences({"a": (2,), "b": (3,)}, {"a": (4,), "c": (3,)})
    'a: (2,) in the model, (4,) in the file; b: (3,) in the model, none in the file; c: none in \
the model, (3,) in the file.'
    """
    names = [name for name in sorted({*wanted, *found}) if wanted.get(name) != found.get(name)]
    parts = [
        f"{name}: {wanted.get(name, 'none')} in the model, {found.get(name, 'none')} in the file"
        for name in names[:DIFFERENCES_SHOWN]
    ]
    more = len(names) - len(parts)
    return "; ".join(parts) + (f"; and {more} more." if more else ".")


def _load_foreign(model: torch.nn.Module, path: Path) -> None:
    """Load any checkpoint; open_clip converts names and positions of other versions."""
    try:
        load_checkpoint(model, str(path), strict=True, weights_only=True)
    except (*_DAMAGES, *_MISFITS) as error:
        raise InputError(f"{path}: {_fault(model, path, error)}") from error


_DAMAGES = (RuntimeError, SafetensorError, EOFError, gzip.BadGzipFile)
_MISFITS = (  # of files of another kind, or of weights that open_clip cannot convert
    pickle.UnpicklingError, AssertionError, AttributeError, LookupError, StopIteration, TypeError,
    ValueError,
)  # fmt: skip


def _fault(model: torch.nn.Module, path: Path, error: Exception) -> str:
    """Return why a checkpoint could not be loaded, and the next step; this reads it again."""
    try:
        weights = load_state_dict(str(path), weights_only=True)
    except _DAMAGES as damage:
        detail = str(damage).partition(". ")[0] or "it is empty"
        return f"damaged, or not a checkpoint of only weights ({detail}). Copy or save it again."
    except _MISFITS:
        return _NOT_WEIGHTS
    shapes = {name: _shape(each) for name, each in _renamed(model, weights).items()}
    if None in shapes.values():
        others = ", ".join(name for name, shape in shapes.items() if shape is None)
        return f"{_NOT_WEIGHTS} It has {plain(others):.80}."
    wanted = {name: _shape(each) for name, each in model.state_dict().items()}
    differences = _differences(wanted, shapes) if wanted != shapes else f"{error}."
    return (
        f"its weights do not fit the architecture. {differences} Give the architecture that it was "
        "trained with."
    )


_NOT_WEIGHTS = (
    "not a checkpoint of only weights, but a whole model, other objects, or a file of another "
    "kind. Save `model.state_dict()` by torch.save or safetensors."
)


def _renamed(model: torch.nn.Module, weights: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return weights by the model's names; older files have others for the text tower."""
    if "positional_embedding" in weights and not hasattr(model, "positional_embedding"):
        return dict(convert_to_custom_text_state_dict(weights))
    return weights


def _shape(weight: object) -> tuple[int, ...] | None:
    return tuple(weight.shape) if isinstance(weight, torch.Tensor) else None
