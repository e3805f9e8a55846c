"""Turns the arguments of `clipaudit audit` into corpora, and writes settings to audit them.

All data are read in place; for images in a folder or a table, lists are written (`image_folder`).
"""

import hashlib
import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clipaudit.config.audits import AskedData, audits, plugged_audits
from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.corpora.captions import json_object
from clipaudit.corpora.parts import expand_shards
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.shards import (
    IMAGE_EXTENSIONS,
    LIST,
    TABLE,
    RawSample,
    first_image,
    is_tar,
    raw_samples,
    tar_fault,
)
from clipaudit.errors import ConfigError, InputError
from clipaudit.imports.asked_encoder import encoder_name, encoder_sections
from clipaudit.imports.blocks import block_text, file_patterns, refuse_if_not_utf8
from clipaudit.imports.folder_tables import TABLE_ENDINGS, lies_within, names_images, read_table
from clipaudit.imports.image_folder import list_folder, list_table, listed_notes
from clipaudit.imports.plain_shards import find_shards
from clipaudit.imports.recognition import TAR_ENDINGS, recognise
from clipaudit.imports.text_fields import TextFields
from clipaudit.plaindata import Json
from clipaudit.plaintext import many, plain
from clipaudit.remote.digests import RemoteDigests
from clipaudit.remote.urls import check_url, is_url
from clipaudit.store.store import Store

TRAIN = "train"
_MAY_LACK = {"may_lack_captions": True}  # audits of images need none
LOOKED_AT = 20  # samples of the first shard that has any, for images and captions
# Each part of a corpus is a job of every step. There are at most PARTS, and with more than FEW
# shards no part is smaller than SMALL. The number does not depend on cores, and it doubles, so one
# more tar or another machine rarely changes the parts.
PARTS, FEW = 200, 8
SMALL = 32 * 10**6  # bytes


def find_corpora(
    data: Sequence[str],
    against: Sequence[str],
    to: Path,
    *,
    caption: str | None = None,
    settings: Path | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> dict[str, dict[str, Any]]:
    """Return the sections of the training corpus and of each test set, by name; paths are absolute.

    `data` are tars and Parquet files, patterns and URLs of these, folders of them, and folders and
    tables of images, whose lists are written below the folder `to`. Each of `against` is one test
    set, named after it. `caption` is the field of the captions, if given; `settings` are those of
    the previous call; `say` receives notes on a folder. Raise InputError for data of another kind,
    for missing data or images, for test sets among `data`, for a folder that contains `to`, and for
    `settings` that a user wrote.
    """
    _refuse_names((*data, *against), to)
    files = {each: _files(each, say) for each in (*data, *against)}  # before anything is written
    _refuse_shared(files, data, against)
    _refuse_twice(files, data)
    to, earlier = to.absolute(), _earlier(settings) if settings else {}
    shards, texts = [], TextFields(caption)
    for each in data:
        here = files[each] or _lists(each, to, say)
        _look(each, here, to, texts)
        shards += here
    if caption is not None and not texts.captioned:
        raise InputError(
            f"--caption {plain(caption)}: no text in it in the first samples of {plain(data[0])}; "
            f"texts are in: {', '.join(map(plain, texts.found)) or 'none'}. A `.txt` beside an "
            "image is its caption."
        )
    if not texts.captioned:
        fields = ", ".join(plain(name) for name in texts.found if name != "path")  # of a list
        say(
            "captions are not audited: the first samples have none"
            + (f"; texts are in: {fields}. --caption FIELD takes one" if fields else "")
        )
    if texts.several:
        say(
            f"images have several captions, in {plain(texts.several)}: the first of each is audited"
        )
    captions = {**(_MAY_LACK if texts.captioned else {}), **texts.settings}
    found = {TRAIN: {**_corpus(shards, earlier.get(TRAIN, [])), **captions}}
    for each in against:
        name = _name(each, found)
        here = files[each] or _lists(each, to, say)
        if not is_url(each):  # a remote shard would be fetched here, without a word
            _look(each, here, to, TextFields())
        found[name] = {**_corpus(here, earlier.get(name, [])), "captions": "none"}
    return found


def settings_text(
    corpora: Mapping[str, Json],
    *,
    reads_text: bool = True,
    sample: int | None = None,
    encoder: str | None = None,
) -> str:
    """Return the YAML of settings that audit corpora, with comments on each part.

    `encoder` is as `encoder_sections` takes it.
    """
    asked = AskedData(
        TRAIN,
        tuple(name for name in corpora if name != TRAIN),
        corpora[TRAIN]["captions"] != "none",
        reads_text,
        sample,
        None if encoder is None else encoder_name(encoder),
    )
    models = {} if encoder is None else encoder_sections(encoder)
    blocks = ["results: results\nstore: store\n", block_text({"corpora": dict(corpora), **models})]
    for audit in audits(plugged_audits()):
        section = audit.of_data(asked)
        if section is not None:
            blocks.append(f"# {audit.question}\n{block_text({audit.name: section})}")
    return "\n".join([_HEAD, *blocks])


_WRITER = "# Written by `clipaudit audit`"
_HEAD = f"""\
{_WRITER}, which overwrites it each time. To change it, copy it to a file of
# your own in this folder, and run `clipaudit run FILE` here. `clipaudit init` has more examples.
"""


def _earlier(settings: Path) -> dict[str, list[str]]:
    """Return the shards of each corpus, as the previous settings named them.

    Raise InputError for a file that `clipaudit audit` did not write.
    """
    is_ours = settings.is_file() and settings.read_bytes().startswith(_WRITER.encode())
    if settings.exists() and not is_ours:
        raise InputError(
            f"{plain(settings)}: would be replaced, and its first line does not say that "
            "`clipaudit audit` wrote it. Name another folder by --to, or move it away."
        )
    try:
        corpora = parse_settings(read_settings(settings)).corpora
    except (OSError, ConfigError):  # missing, or of another version: start a new order
        return {}
    return {name: expand_shards(corpus.shard_patterns) for name, corpus in corpora.items()}


def _corpus(shards: Sequence[str], earlier: Sequence[str]) -> dict[str, Any]:
    """Return the settings that name a corpus's shards; `earlier` ones keep their order.

    So only new ones are read.
    """
    there = set(shards)
    ordered = [*dict.fromkeys([*(each for each in earlier if each in there), *shards])]
    size, count = 1, len(ordered)
    mean = sum(map(_bytes, ordered)) / count
    while count > PARTS * size or (FEW < count and size < count and mean * size < SMALL):
        size *= 2
    return {"shards": file_patterns(ordered), "shards_per_part": size}


def _bytes(shard: str) -> int:
    """Return the size of a file, or the size assumed for it."""
    if is_url(shard):
        return SMALL
    if shard.endswith(LIST):
        return SMALL // 8  # of 1,000 images: a part then has 8,000
    return Path(shard).stat().st_size


def _files(argument: str, say: Callable[[str], object]) -> list[str]:
    """Return the files or URLs that an argument names; none for images in a folder or a table.

    Raise InputError if there is none, or if it is no shard.
    """
    if is_url(argument):
        check_url(argument)
        return expand_shards(argument)
    path = Path(argument)
    if os.path.isdir(path) and recognise(path) == "folder":  # Path.is_dir fails for long patterns
        return []
    if os.path.isfile(path) and (argument.endswith(TABLE_ENDINGS) or names_images(path)):
        read_table(path)  # raises for another content
        return []
    found = find_shards([argument], say=say)
    for path in found:
        _refuse_other_kinds(path)
    _refuse_broken_tars(found)
    next(raw_samples(found[0], range(1).__contains__), None)  # raises for another content
    return [str(path.absolute()) for path in found]


def _refuse_names(arguments: Sequence[str], to: Path) -> None:
    """Raise InputError for an empty name, a folder that contains `to`, or a `to` not in UTF-8."""
    refuse_if_not_utf8(str(to.absolute()))
    if "" in arguments:
        raise InputError(
            "an empty name is among DATA and --against. Is a variable of the shell not set?"
        )
    for each in arguments:
        if not is_url(each) and to.resolve().is_relative_to(Path(each).resolve()):
            raise InputError(
                f"{each}: contains {to}, which is written while it is read. Name another folder by "
                "--to, or a folder below this one."
            )


def _refuse_shared(
    files: Mapping[str, list[str]], data: Sequence[str], against: Sequence[str]
) -> None:
    """Raise InputError for a test set with a file, or a folder of images, that is in DATA, too."""
    found = {each: {_real(file) for file in files[each]} for each in (*data, *against)}
    for test, each in itertools.product(against, data):
        shared = found[test] & found[each]
        if shared or (not found[test] and not found[each] and _nested(test, each)):
            raise InputError(
                f"{plain(min(shared, default=test))}: in DATA and in --against, so each of its "
                "images would be its own copy. Name DATA without it, for example by a table of its "
                "images. Without --against, images of DATA that repeat others are found."
            )


def _refuse_twice(files: Mapping[str, list[str]], data: Sequence[str]) -> None:
    """Raise InputError for files, or folders of images, that two of DATA name by different paths.

    What is named twice by the same path is read once.
    """
    named: dict[str, tuple[str, str]] = {}  # by its real path: the argument, and the path in it
    for each in data:
        for path in files[each] or [os.path.abspath(each)]:
            other, same = named.setdefault(_real(path), (each, path))
            if other != each and same != path:
                raise _twice(each, other)
    of_images = [each for each in data if not files[each]]
    folders = {os.path.realpath(each): each for each in of_images if os.path.isdir(each)}
    for each in of_images if folders else []:
        place = Path(os.path.realpath(each))
        if place.is_file():  # a table stands for a file in the folder of its images
            place = Path(os.path.realpath(read_table(Path(each))[0])) / place.name
        outer = next(
            (folders[str(above)] for above in place.parents if str(above) in folders), None
        )
        if outer is not None:
            raise _twice(each, outer)


def _twice(one: str, other: str) -> InputError:
    return InputError(
        f"{plain(one)} and {plain(other)}: both in DATA, and one contains the other or links to "
        "it, so images would count as repeats of themselves. Name one of them."
    )


def _real(file: str) -> str:
    return file if is_url(file) else os.path.realpath(file)


def _nested(test: str, each: str) -> bool:
    """Return whether two folders or tables are the same, or one folder contains the other.

    A test set's table stands for the folder of the images that it names.
    """
    if os.path.isfile(test) and os.path.isdir(each):
        return lies_within(read_table(Path(test))[0], Path(each).resolve())
    paths = [os.path.realpath(test), os.path.realpath(each)]
    common = os.path.commonpath(paths)
    return paths[0] == paths[1] or (common in paths and all(map(os.path.isdir, paths)))


def _refuse_other_kinds(path: Path) -> None:
    """Raise InputError for a file that no reader of shards reads, by the ending of its name."""
    name = path.name.lower()
    if name.endswith(TAR_ENDINGS) or not is_tar(path):
        return
    if name.endswith(tuple(f".{extension}" for extension in IMAGE_EXTENSIONS)):
        raise InputError(
            f"{plain(path)}: a single image. Name the folder of the images: {plain(path.parent)}. "
            "(A shell replaces a pattern such as *.png by all its files.)"
        )
    raise InputError(
        f"{plain(path)}: not a file that is read, which ends in "
        f"{', '.join((*TAR_ENDINGS, TABLE, *TABLE_ENDINGS, LIST))}. Name such files, or a folder "
        "of images, with captions in .txt files or metadata.csv."
    )


def _refuse_broken_tars(shards: Sequence[Path]) -> None:
    """Raise InputError with all tars whose start is none: otherwise each ends a run of its own."""
    faults = {path: fault for path in shards if is_tar(path) and (fault := tar_fault(path))}
    if faults:
        named = "\n".join(f"{plain(at)}: not a readable tar: {why}." for at, why in faults.items())
        raise InputError(
            f"{named}\nFetch or write {many(len(faults), 'file')} of {len(shards):,} again, or "
            "move them to another folder."
        )


def _lists(argument: str, to: Path, say: Callable[[str], object]) -> list[str]:
    """Write the lists of the images of a folder or a table; return their paths."""
    path = Path(argument).absolute()
    lists = to / "lists" / hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
    listed = list_folder(path, lists) if path.is_dir() else list_table(path, lists)
    for note in listed_notes(listed):
        say(f"{plain(argument)}: {note}")
    return [str(path) for path in listed.lists]


def _file(shard: str, to: Path) -> Path:
    """Return the file to read a shard from: for a remote one, its stub, once it is cached."""
    if not is_url(shard):
        return Path(shard)
    remote = RemoteDigests(Store(to / "store"))
    return remote.stub(remote.digest(shard))


def _look(argument: str, shards: Sequence[str], to: Path, texts: TextFields) -> None:
    """Count the texts of the first samples, by field; raise InputError if none has an image."""
    held, tried, usable = Counter[str](), 0, False
    for sample in _first_samples(shards, to):
        tried += 1
        held.update(sample.members.keys())  # a mapping would be read as counts
        usable |= sample.fault is not None or first_image(sample.members) is not None
        try:
            text = sample.members.get("txt")
            fields = json_object(sample.members)
        except Unusable:
            continue  # the index drops it and says why
        texts.add(None if text is None else text.decode("utf-8", "replace"), fields)
    if not usable:
        endings = ", ".join(f".{plain(ending)}" for ending, _ in held.most_common(5))
        found = f"only {endings} in {many(tried, 'sample')} tried" if tried else "no samples"
        raise InputError(
            f"{plain(argument)}: no images (.{', .'.join(IMAGE_EXTENSIONS)}): {found}. Name tars, "
            "Parquet files or folders of images. Unpack tars within tars; docs/imports.md tells "
            "how to write CIFAR and others as folders."
        )


def _first_samples(shards: Sequence[str], to: Path) -> Iterator[RawSample]:
    """Yield the first samples of the first shard that has any."""
    for shard in shards:
        some = False
        read = raw_samples(_file(shard, to), range(LOOKED_AT).__contains__)
        for sample in itertools.islice(read, LOOKED_AT):
            some = True
            yield sample
        if some:
            return


def _name(argument: str, taken: Mapping[str, object]) -> str:
    """Return a test set's name: letters and digits of its path, and a number if it is taken."""
    path = Path(argument).absolute()
    known = (".tar", TABLE, *TABLE_ENDINGS)
    stem = path.stem if path.suffix in known else path.name
    stem = path.parent.name if re.fullmatch(r"[\d{}.,]*", stem) else stem  # a number is not a name
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-_") or "test"
    folded = {each.casefold() for each in taken}  # some disks ignore the case of names
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(each for each in itertools.chain([name], numbered) if each.casefold() not in folded)
