"""What `clipaudit audit` is asked about: tars and folders as corpora, and settings to audit them.

Tars are read where they lie. A folder of pictures is packed into tars first (`picture_folder`).
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clipaudit.config.audits import AskedData, audits
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.parts import expand_shards
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.shards import raw_samples
from clipaudit.errors import InputError
from clipaudit.imports.blocks import block_text, file_patterns
from clipaudit.imports.picture_folder import import_folder
from clipaudit.plaindata import Json

TRAIN = "train"
LOOKED_AT = 20  # samples of the first shard, for captions
PARTS = 200  # of a corpus at most: each is a job of every step


def find_corpora(
    data: Sequence[str], against: Sequence[str], to: Path
) -> dict[str, dict[str, Any]]:
    """Return the sections of the training corpus and of each test set, by name; paths are absolute.

    `data` are tars, patterns of tars with braces, folders of tars, and folders of pictures, which
    are packed below the folder `to`; each of `against` is one test set, named after it. InputError
    for what is none of these, for what is not there, and for a folder that holds `to`.
    """
    around = [
        each for each in (*data, *against) if to.resolve().is_relative_to(Path(each).resolve())
    ]
    if around:
        raise InputError(
            f"{around[0]}: holds {to}, which is written while it is read. Name another folder by "
            "--to, or what lies below this one."
        )
    packed = to.absolute() / "packed"
    found = {TRAIN: _corpus(data, packed / TRAIN)}
    for each in against:
        name = _name(each, found)
        found[name] = {**_corpus([each], packed / name), "captions": "none"}
    return found


def settings_text(corpora: Mapping[str, Json], *, reads_text: bool, sample: int | None) -> str:
    """Return the YAML of settings that audit corpora, with what each part is for as comments."""
    asked = AskedData(
        TRAIN,
        tuple(name for name in corpora if name != TRAIN),
        corpora[TRAIN]["captions"] == "text",
        reads_text,
        sample,
    )
    blocks = ["results: results\nstore: store\n", block_text({"corpora": dict(corpora)})]
    for audit in audits():
        section = audit.of_data(asked)
        if section is not None:
            blocks.append(f"# {audit.question}\n{block_text({audit.name: section})}")
    return "\n".join([_HEAD, *blocks])


_HEAD = """\
# Written by `clipaudit audit`, which writes it anew each time: to change it, copy it to a file of
# your own in this folder, and run `clipaudit run FILE` here. `clipaudit init` has more examples.
"""


def _corpus(arguments: Sequence[str], packed: Path) -> dict[str, Any]:
    shards = [
        shard
        for number, argument in enumerate(arguments)
        for shard in _shards(argument, packed / str(number))
    ]
    twice = next((shard for shard in shards if shards.count(shard) > 1), None)
    if twice is not None:
        raise InputError(f"{twice}: named twice. Name each tar once.")
    return {
        "shards": file_patterns(shards),
        "shards_per_part": -(-len(shards) // PARTS),
        "captions": "text" if _has_captions(Path(shards[0])) else "none",
    }


def _shards(argument: str, packed: Path) -> list[str]:
    """Return the tars that an argument stands for, as absolute paths."""
    path = Path(argument)
    if path.is_dir():
        tars = sorted(path.rglob("*.tar"))
        if not tars:
            packed.parent.mkdir(parents=True, exist_ok=True)
            block = import_folder(path, TRAIN, packed, force=packed.exists()).blocks["corpora"]
            tars = [Path(shard) for shard in expand_shards(block[TRAIN]["shards"])]
    elif path.suffix == ".tar":
        tars = [Path(shard) for shard in expand_shards(argument)]
    else:
        what = "no tar" if path.exists() else "no such file or folder"
        raise InputError(f"{argument}: {what}. Name tars, or a folder of tars or of pictures.")
    gone = next((tar for tar in tars if not tar.is_file()), None)
    if gone is not None:
        raise InputError(f"{gone}: no such file. Name tars that are there.")
    return [str(tar.absolute()) for tar in tars]


def _has_captions(shard: Path) -> bool:
    """Return whether one of the first samples of a shard has a caption."""
    captioning = Captioning("text")
    for sample in itertools.islice(raw_samples(shard), LOOKED_AT):
        try:
            if captioning.caption(sample.members) is not None:
                return True
        except Unusable:
            continue
    return False


def _name(argument: str, taken: Mapping[str, object]) -> str:
    """Return a test set's name: letters and digits of its path, with a number where it is taken."""
    path = Path(argument).absolute()
    stem = path.name.removesuffix(".tar")
    stem = path.parent.name if re.fullmatch(r"[\d{}.,]*", stem) else stem  # a number is no name
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-_") or "test"
    folded = {each.casefold() for each in taken}  # some disks take names in another case for one
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each.casefold() not in folded)
