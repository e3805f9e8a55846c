"""Turns the encoder of `clipaudit audit --encoder` into sections of settings."""

import json
import re
from pathlib import Path
from typing import Any

from clipaudit.config.plugins import offered
from clipaudit.errors import ConfigError, InputError

TIMM = "timm/"
TIMM_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


def encoder_name(asked: str) -> str:
    """Return the name in the settings of an encoder, and of its architecture.

    >>> encoder_name("facebook/dinov2-small"), encoder_name("ViT-B-32:openai")
    ('encoder-dinov2-small', 'encoder-ViT-B-32-openai')
    """
    last = asked.rstrip("/").rpartition("/")[2]
    return "encoder-" + re.sub(r"[^A-Za-z0-9]+", "-", last).strip("-")


def encoder_sections(asked: str) -> dict[str, dict[str, Any]]:
    """Return the sections `encoders` and, if needed, `architectures`; paths are absolute.

    `asked` is one of: a folder of open_clip's or transformers'; ARCHITECTURE:TAG or
    ARCHITECTURE:FILE of open_clip; timm/MODEL; a plug-in; or a name on the Hugging Face hub, which
    is searched for in the cache. Raise InputError for anything else, also for an architecture or a
    tag that open_clip does not know.

    >>> encoder_sections("timm/resnet50.a1_in1k")["encoders"]["encoder-resnet50-a1-in1k"]["options"]
    {'model': 'resnet50.a1_in1k'}
    """
    name = encoder_name(asked)
    architecture, _, tag = asked.partition(":")
    folder = Path(asked)
    if folder.is_dir():
        return _encoder(asked, _of_folder(folder))
    if tag:
        _refuse_unknown(asked, architecture, tag)
        weights = str(Path(tag).absolute()) if Path(tag).is_file() else tag
        model: dict[str, Any] = {"architecture": name, "pretrained": weights}
        return {"architectures": {name: {"open_clip": architecture}}, **_encoder(asked, model)}
    if asked.startswith(TIMM):
        model = {"plugin": "timm", "options": {"model": asked.removeprefix(TIMM)}}
        return _encoder(asked, model)
    if asked in {entry.name for entry in offered("encoders")}:
        return _encoder(asked, {"plugin": asked})
    if folder.is_file():
        raise InputError(
            f"--encoder {asked}: a file of weights has no architecture. Give ARCHITECTURE:FILE, "
            f"such as ViT-B-32:{asked}. {_OWN_ARCHITECTURE}"
        )
    if asked.count("/") == 1 and not folder.suffix:
        return _encoder(asked, {"plugin": "transformers", "options": {"checkpoint": asked}})
    raise InputError(
        f"--encoder {asked}: neither a folder, nor ARCHITECTURE:TAG or ARCHITECTURE:FILE of "
        "open_clip (such as ViT-B-32:openai), nor timm/MODEL, nor a plug-in, nor a name on the hub "
        "(such as facebook/dinov2-small). Give one of these."
    )


_OWN_ARCHITECTURE = (
    "For an architecture of your own, give a folder with open_clip_config.json and the weights as "
    "open_clip_model.safetensors or open_clip_pytorch_model.bin, the layout of open_clip's hub."
)


def _refuse_unknown(asked: str, architecture: str, tag: str) -> None:
    from clipaudit.models.clip import refuse_unknown  # open_clip takes 4 s to import

    try:
        refuse_unknown(architecture, tag)
    except ConfigError as error:  # an unknown architecture
        raise InputError(f"--encoder {asked}: {error} {_OWN_ARCHITECTURE}") from error
    except InputError as error:
        raise InputError(f"--encoder {asked}: {error}") from error


def _of_folder(folder: Path) -> dict[str, Any]:
    if (folder / "open_clip_config.json").is_file():
        return {"directory": str(folder.absolute())}
    if (folder / "config.json").is_file():
        if timms := _of_timms_folder(folder):
            return {"plugin": "timm", "options": timms}
        return {"plugin": "transformers", "options": {"checkpoint": str(folder.absolute())}}
    raise InputError(
        f"--encoder {folder}: has neither open_clip_config.json nor config.json. Give the folder "
        "of a model that open_clip or transformers saved."
    )


def _of_timms_folder(folder: Path) -> dict[str, Any]:
    """Return the options of a folder in the layout of timm's hub; none for another folder."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    weights = [folder / name for name in TIMM_WEIGHTS if (folder / name).is_file()]
    if not isinstance(config, dict) or "pretrained_cfg" not in config or not weights:
        return {}
    tag = config["pretrained_cfg"].get("tag")
    model = f"{config.get('architecture')}.{tag}" if tag else config.get("architecture")
    return {"model": model, "checkpoint": str(weights[0].absolute())}


def _encoder(title: str, encoder: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {"encoders": {encoder_name(title): {**encoder, "title": title}}}
