"""Loads tokenizers of CLIP models, from a vocabulary file or by a text_cfg, without their code.

A checkpoint of transformers may include Python files, and a model's definition may ask to run them.
They never run here: such tokenizers and text models are refused.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from open_clip.tokenizer import DEFAULT_CONTEXT_LENGTH, HFTokenizer, SimpleTokenizer

from clipaudit.errors import ConfigError, InputError

Tokenizer = Callable[[list[str]], torch.Tensor]
Definition = dict[str, Any]  # open_clip's JSON form: embed_dim, vision_cfg, text_cfg, ...


def own_vocabulary(text: Definition, path: Path) -> SimpleTokenizer:
    """Return the tokenizer of a BPE merges file; write its size into `text` if it has none."""
    try:
        tokenizer = SimpleTokenizer(
            bpe_path=str(path), context_length=text.get("context_length", DEFAULT_CONTEXT_LENGTH)
        )
    except (OSError, EOFError, UnicodeDecodeError) as error:  # gzip.BadGzipFile is an OSError
        raise InputError(
            f"{path}: not a BPE vocabulary ({error}). It must be a gzipped text file of merges, "
            "as open_clip's bpe_simple_vocab_16e6.txt.gz is."
        ) from error
    size = text.setdefault("vocab_size", tokenizer.vocab_size)
    if size < tokenizer.vocab_size:
        raise ConfigError(
            f"text_cfg.vocab_size is {size}, but {path} has {tokenizer.vocab_size} tokens: "
            "leave vocab_size out, and it is taken from the file"
        )
    return tokenizer


def plain_tokenizer(text: Definition, directory: Path | None) -> Tokenizer:
    """Return the tokenizer that a text_cfg names; files are searched for in `directory`.

    Raises InputError for one that cannot be read, or that would run code of its own.
    """
    length = text.get("context_length", DEFAULT_CONTEXT_LENGTH)
    options = dict(text.get("tokenizer_kwargs") or {})
    if text.get("hf_tokenizer_name"):
        source = str(directory or text["hf_tokenizer_name"])
        mode = text.get("tokenizer_mode")
        return _hugging_face(source, options, context_length=length, tokenizer_mode=mode)
    if directory is not None and "bpe_path" in options:
        options["bpe_path"] = str(directory / options["bpe_path"])
    try:
        tokenizer: Tokenizer = SimpleTokenizer(context_length=length, **options)
    except (OSError, ValueError) as error:
        raise _unreadable(str(directory or "text_cfg"), error) from error
    return tokenizer


def _hugging_face(source: str, options: Definition, **own: Any) -> Tokenizer:  # noqa: ANN401
    if options.pop("trust_remote_code", False):
        raise InputError(
            f"{source}: text_cfg.tokenizer_kwargs asks for trust_remote_code, that is, to run the "
            "Python files beside it. clipaudit runs no code of a checkpoint: remove the key, or "
            "save the tokenizer as one of transformers' own classes."
        )
    try:
        tokenizer: Tokenizer = HFTokenizer(source, **own, **options, trust_remote_code=False)
    except (OSError, ValueError) as error:
        step = "" if Path(source).is_dir() else _DOWNLOAD
        raise InputError(f"{_unreadable(source, error)}{step}") from error
    return tokenizer


_DOWNLOAD = " Download it on a machine with a network and set HF_HOME."


def _unreadable(source: str, error: Exception) -> InputError:
    return InputError(f"{source}: its tokenizer cannot be read: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    """Return the first line, without transformers' advice to run the code."""
    return str(error).partition("\n")[0]


def refuse_code(text_model: str) -> None:
    """Raise InputError for a text model of transformers that needs Python files of its own.

    This is called before open_clip, which would ask on the terminal whether to run them.
    """
    from transformers import AutoConfig

    try:
        AutoConfig.from_pretrained(text_model, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"text_cfg.hf_model_name {text_model}: cannot be read, or needs code of its own, which "
            f"clipaudit does not run: {_first_line(error)}"
        ) from error
