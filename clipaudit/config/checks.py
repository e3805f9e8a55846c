"""Check sections of the settings against each other; each check raises ValueError."""

from collections.abc import Iterable, Sequence
from os.path import isfile, normpath
from typing import TYPE_CHECKING

from clipaudit.config.corpora import Corpus
from clipaudit.config.plugins import Kind, plugin_entry
from clipaudit.corpora.shards import LIST, is_tar
from clipaudit.errors import ConfigError
from clipaudit.remote.urls import is_url

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


def known(name: str | None, names: Iterable[str], where: str, room: str) -> None:
    """Reject a reference to a name that the section `room` does not have."""
    if name is not None and name not in set(names):
        listed = ", ".join(sorted(names)) or "nothing"
        raise ValueError(f"{where}: {name!r} is not among {room} ({listed})")


def differ_beyond_case(names: Iterable[str], section: str) -> None:
    """Reject two names that become one folder on a case-insensitive disk."""
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise ValueError(
                f"{section}: {other!r} and {name!r} differ only in case and share one folder on "
                "some disks. Rename one."
            )


def check_plugin(kind: Kind, name: str | None, where: str) -> None:
    """Reject a plug-in that no installed distribution offers."""
    try:
        if name is not None:
            plugin_entry(kind, name)
    except ConfigError as error:
        raise ValueError(f"{where}: {error}") from error


def check_maps(run: "Settings") -> None:
    """Reject a map that does not name an encoder and a corpus."""
    where = "report.maps.of"
    for name in run.report.maps.of or ():
        encoder, slash, corpus = name.partition("/")
        if not slash:
            raise ValueError(f"{where}: {name!r} is not `<encoder>/<corpus>`, such as `own/web`")
        known(encoder, run.encoders, where, "encoders")
        known(corpus, run.corpora, where, "corpora")


def reads_text(run: "Settings", name: str, where: str) -> None:
    """Reject an image-only encoder where texts are compared with images."""
    encoder = run.encoders[name]
    if encoder.plugin is not None:
        raise ValueError(
            f"{where}: {name} is the plug-in {encoder.plugin}, which embeds only images, but this "
            "needs texts too; name an encoder with `model`, `pretrained` or `directory`"
        )


def check_own_training(
    run: "Settings", name: str | None, chosen: Iterable[str], where: str, other: str
) -> None:
    """Reject an encoder that is trained, also at first, on a set chosen by its embeddings."""
    setting = f"encoders.{name}.model"
    for recipe, manifest in run.trainings(name) if name is not None else ():
        if manifest in chosen:
            raise ValueError(
                f"{where}: {name} is trained on {manifest}, which it chooses itself; let "
                f"`{setting}` name another set, such as {other}"
            )
        setting = f"recipes.{recipe}.start_from.manifest"


def check_shards(run: "Settings", name: str, corpus: Corpus) -> None:
    """Reject shards that cannot be read or that are in the wrong folder."""
    where = f"corpora.{name}.{'shards' if corpus.metadata is None else 'metadata.files'}"
    try:
        paths = run.shards(name)
    except ConfigError as error:
        raise ValueError(f"{where}: {error}") from error
    files = [path for path in paths if not is_url(path)]
    if files and len(files) < len(paths):
        raise ValueError(
            f"{where}: {len(paths) - len(files)} are URLs and {len(files)} are files, such as "
            f"{files[0]}; use only URLs or only files"
        )
    remote = () if files else paths
    unread = [path for path in remote if corpus.metadata is not None or path.endswith(LIST)]
    if unread:
        raise ValueError(
            f"{where}: {unread[0]} is a URL, but only tars and Parquet files with images can be "
            "remote; copy it here"
        )
    if corpus.world is not None:
        _check_made(run, name, corpus, corpus.world, paths)


def _check_made(
    run: "Settings", name: str, corpus: Corpus, world: str, paths: Sequence[str]
) -> None:
    """Reject a corpus that its world does not make, or not as the corpus says."""
    where, made = f"corpora.{name}", run.worlds[world].corpora
    known(name, made, f"{where}.world", f"worlds.{world}.corpora")
    its = f"worlds.{world}.corpora.{name}"
    if corpus.labels is not None and not made[name].labelled:
        raise ValueError(f"{where}.labels: {its}.labelled is false; set it to true")
    if corpus.captions in ("text", "texts") and not made[name].captioned:
        raise ValueError(
            f"{where}.captions: {corpus.captions}, but {its}.captioned is false; set it to true, "
            "or write `captions: none`"
        )
    folder = f"data/{world}/{name}/"
    for number, path in enumerate(paths):
        stem = path.removeprefix(folder).removesuffix(".tar")
        if path != f"{folder}{stem}.tar" or not stem.isdecimal():
            raise ValueError(
                f"{where}.shards: {path} is not {folder}<number>.tar, where the world `{world}` "
                "puts the shards of this corpus"
            )
        if int(stem) != number:
            raise ValueError(
                f"{where}.shards: {path} is at position {number}, but the world `{world}` makes it "
                f"as shard {int(stem)}; list the shards in order, from 0 on"
            )


def check_folders(results: str, store: str) -> None:
    """Reject results whose paths Snakemake would not understand, and one folder for both."""
    if "{" in results or "}" in results:
        raise ValueError(
            f"results: {results} has a brace, which Snakemake takes for a wildcard; name another "
            "folder"
        )
    for name, folder in (("results", results), ("store", store)):
        if "\0" in folder:
            raise ValueError(f"{name}: {folder!r} has a null character; name another folder")
        if isfile(folder):
            raise ValueError(f"{name}: {folder} is a file; name a folder")
    if normpath(results) == normpath(store):
        raise ValueError(f"store: {store} is also the folder of `results`; name another one")


def check_starts(run: "Settings") -> None:
    """Reject recipes that start from each other's models, so that none could be trained first."""
    for name in run.recipes:
        passed = [name]
        while (start := run.recipes[passed[-1]].start_from) is not None:
            if start.recipe in passed:
                raise ValueError(
                    f"recipes.{name}.start_from: {' starts from '.join([*passed, start.recipe])}, "
                    "so no model could be trained first; remove one `start_from`"
                )
            passed.append(start.recipe)


def check_blurred(run: "Settings", name: str, corpus: Corpus) -> None:
    """Reject a blurred corpus that does not fit its source corpus."""
    if corpus.blurred is None:
        return
    where, source = f"corpora.{name}.blurred.of", corpus.blurred.of
    known(source, run.corpora, where, "corpora")
    if run.corpora[source].is_split:
        raise ValueError(f"{where}: {source} is a split; blur its corpus, then split that")
    if run.corpora[source].blurred is not None:
        raise ValueError(f"{where}: {source} is blurred itself; name its source corpus")
    if run.is_remote(source):
        raise ValueError(f"{where}: {source} is remote; copy its shards here to blur them")
    odd = next((path for path in run.shards(source) if not is_tar(path)), None)
    if odd is not None and run.corpora[source].metadata is None:
        raise ValueError(
            f"{where}: {source} has {odd}, but only tars are blurred; export it as tars"
        )
    own, count = run.shards(name), len(run.shards(source))
    if own != [f"data/blurred/{name}/{number:05d}.tar" for number in range(count)]:
        raise ValueError(
            f"corpora.{name}.shards: {len(own)} shards from {own[0]} on, but the blurred shards of "
            f"{source} are data/blurred/{name}/{{00000..{count - 1:05d}}}.tar"
        )
