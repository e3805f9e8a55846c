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
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.shards import raw_samples
from clipaudit.errors import InputError
from clipaudit.imports.blocks import block_text, file_patterns
from clipaudit.imports.picture_folder import import_folder
from clipaudit.imports.recognition import recognise
from clipaudit.imports.tars import find_tars
from clipaudit.plaindata import Json

TRAIN = "train"
LOOKED_AT = 20  # samples of the first shard, for captions
# Parts of a corpus at most, each a job of every step. Not by cores, and doubling: a tar more or
# another machine seldom cuts parts anew.
PARTS = 200


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
    places = [_place(each, packed / str(number)) for number, each in enumerate(arguments)]
    shards = [str(tar.absolute()) for tar in find_tars(places)]
    size = 1
    while len(shards) > PARTS * size:
        size *= 2
    return {
        "shards": file_patterns(shards),
        "shards_per_part": size,
        "captions": "text" if _has_captions(Path(shards[0])) else "none",
    }


def _place(argument: str, packed: Path) -> str:
    """Return where an argument's tars lie: a folder of pictures is packed into tars first."""
    folder = Path(argument)
    if not folder.is_dir() or recognise(folder) != "folder":
        return argument
    packed.parent.mkdir(parents=True, exist_ok=True)
    import_folder(folder, TRAIN, packed, force=packed.exists())
    return str(packed)


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
