"""Checks of one section of the settings against the others; each raises ValueError."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clipaudit.config.corpora import Corpus
from clipaudit.config.curated import curated_sets
from clipaudit.config.memorization import Memorization
from clipaudit.config.memorized import points
from clipaudit.config.parrot import Parrot
from clipaudit.config.similarity import Deduplication
from clipaudit.errors import ConfigError
from clipaudit.remote.urls import is_url

if TYPE_CHECKING:
    from clipaudit.config.run import Run


def known(name: str | None, names: Iterable[str], where: str, room: str) -> None:
    """Refuse a reference to something that the section `room` does not have."""
    if name is not None and name not in set(names):
        listed = ", ".join(sorted(names)) or "nothing"
        raise ValueError(f"{where}: {name!r} is not among {room} ({listed})")


def differ_beyond_case(names: Iterable[str], section: str) -> None:
    """Refuse two names that a case-insensitive disk takes for one: they become folders."""
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise ValueError(
                f"{section}: {other!r} and {name!r} differ in case alone, and some disks take them "
                "for one folder. Rename one."
            )


def check_shards(run: "Run", name: str, corpus: Corpus) -> None:
    """Refuse a list of shards that cannot be read, or that lies elsewhere than it must."""
    where = f"corpora.{name}.{'shards' if corpus.metadata is None else 'metadata.files'}"
    try:
        paths = run.shards(name)
    except ConfigError as error:
        raise ValueError(f"{where}: {error}") from error
    files = [path for path in paths if not is_url(path)]
    if files and len(files) < len(paths):
        raise ValueError(
            f"{where}: {len(paths) - len(files)} are URLs and {len(files)} are files, {files[0]} "
            "for one; bring all of them to one side"
        )
    if corpus.metadata is not None and not files:
        raise ValueError(
            f"{where}: {paths[0]} is a URL; only tars are read from afar: copy it here"
        )
    if corpus.world is None or corpus.is_split:
        return
    folder = f"data/{corpus.world}/{name}/"
    for path in paths:
        if not (path.startswith(folder) and path.endswith(".tar")):
            raise ValueError(
                f"{where}: {path} is not {folder}<number>.tar, where the world `{corpus.world}` "
                "puts the shards of this corpus"
            )


def check_blurred(run: "Run", name: str, corpus: Corpus) -> None:
    """Refuse a blurred corpus that the corpus that it is made of does not fit."""
    if corpus.blurred is None:
        return
    where, source = f"corpora.{name}.blurred.of", corpus.blurred.of
    known(source, run.corpora, where, "corpora")
    if run.corpora[source].is_split:
        raise ValueError(f"{where}: {source} is a split; blur its corpus, then split that")
    if run.corpora[source].blurred is not None:
        raise ValueError(f"{where}: {source} is blurred itself; name the corpus it is made of")
    if run.is_remote(source):
        raise ValueError(f"{where}: {source} is remote; copy its shards here to blur them")
    own, count = run.shards(name), len(run.shards(source))
    if own != [f"data/blurred/{name}/{number:05d}.tar" for number in range(count)]:
        raise ValueError(
            f"corpora.{name}.shards: {len(own)} shards from {own[0]} on, but the shards of "
            f"{source} are blurred into data/blurred/{name}/{{00000..{count - 1:05d}}}.tar"
        )


def check_memorization(run: "Run", audit: Memorization) -> None:
    """Refuse a memorization audit that the other sections do not fit."""
    for name in audit.sources:
        where = f"memorization.sources.{name}"
        known(name, run.corpora, where, "corpora")
        if run.corpora[name].is_split:
            raise ValueError(f"{where}: a split, of which no sets are drawn; name its corpus")
    for name in [audit.recipe, *audit.seeds]:
        known(name, run.recipes, "memorization.recipe", "recipes")
    known(audit.encoder, run.encoders, "memorization.encoder", "encoders")
    for name in audit.baselines:
        known(name, run.encoders, "memorization.baselines", "encoders")
    for name in audit.utility:
        known(name, run.corpora, "memorization.utility", "corpora")
        if run.corpora[name].labels is None:
            raise ValueError(f"corpora.{name}.labels: a test set needs labels")
    for name, selection in audit.selections.items():
        known(selection.corpus, run.corpora, f"memorization.selections.{name}", "corpora")
    _check_points(run, audit)
    _check_one_deduplication(run, audit)


def _check_points(run: "Run", audit: Memorization) -> None:
    recipe = run.recipes[audit.recipe]
    names = {point.name for point in points(audit, recipe)}
    for point in audit.grid or []:
        known(point, names, "memorization.grid", "the points of its mitigations and sizes")
    for count in audit.mitigations.epochs:
        if count > recipe.epochs:
            raise ValueError(
                f"memorization.mitigations.epochs: {count}, but recipes.{audit.recipe} trains "
                f"{recipe.epochs} epochs; give a checkpoint before its end"
            )


def _check_one_deduplication(run: "Run", audit: Memorization) -> None:
    """A corpus that both audits deduplicate has one deduplicated manifest."""
    similarity = run.similarity
    if similarity is None or similarity.large not in audit.sources:
        return
    if audit.sources[similarity.large].duplicates != "semantic":
        return
    if (audit.deduplication, audit.encoder) != (similarity.deduplication, similarity.encoder):
        raise ValueError(
            f"{similarity.large}: both audits deduplicate it; give memorization and similarity the "
            "same encoder and the same section `deduplication`"
        )


def check_parrot(run: "Run", audit: Parrot) -> None:
    """Refuse a parrot-caption audit that the other sections do not fit."""
    for name in audit.corpora:
        known(name, run.corpora, "parrot.corpora", "corpora")
        if run.corpora[name].is_split:
            raise ValueError(f"parrot.corpora: {name} is a split; name its corpus")
        _needs_captions(run, name, "parrot.corpora")
    for name in audit.inspected:
        known(name, run.encoders, "parrot.encoder", "encoders")
    for name in audit.test_sets:
        known(name, run.corpora, "parrot.test_sets", "corpora")
        if run.corpora[name].labels is None:
            raise ValueError(f"corpora.{name}.labels: a test set needs labels")
    for name in audit.retrieval:
        known(name, run.corpora, "parrot.retrieval", "corpora")
        _needs_captions(run, name, "parrot.retrieval")
    _check_curated_models(run, audit)
    _check_shared_deduplication(run, audit)


def _needs_captions(run: "Run", name: str, where: str) -> None:
    source = run.corpora[name].captions
    if source not in ("text", "texts"):
        raise ValueError(
            f"{where}: corpora.{name}.captions is {source}; its pictures need captions of their "
            "own: text or texts"
        )


def _check_curated_models(run: "Run", audit: Parrot) -> None:
    settings = audit.curations
    if settings is None:
        return
    sets = curated_sets(settings)
    evidence = audit.evidence
    for name in [*settings.recipes, *(evidence.recipes if evidence else [])]:
        known(name, run.recipes, "parrot.curations.recipes", "recipes")
    models = {f"{recipe}/{name}" for recipe in settings.recipes for name in sets}
    for model in settings.grid or []:
        known(model, models, "parrot.curations.grid", "the models of its recipes and sets")
    for arm in (evidence.parrot, evidence.clean) if evidence else ():
        known(arm, sets, "parrot.evidence", "the sets of parrot.curations")


def _check_shared_deduplication(run: "Run", audit: Parrot) -> None:
    """A corpus that two audits deduplicate has one deduplicated manifest."""
    if audit.deduplication is None or audit.curations is None:
        return
    corpus = audit.curations.corpus
    others: dict[str, tuple[str, Deduplication, str | None]] = {}
    similarity, memory = run.similarity, run.memorization
    if similarity is not None and similarity.deduplication is not None:
        others["similarity"] = (similarity.large, similarity.deduplication, similarity.encoder)
    if memory is not None and memory.deduplication is not None:
        semantic = [name for name, each in memory.sources.items() if each.duplicates == "semantic"]
        if corpus in semantic:
            others["memorization"] = (corpus, memory.deduplication, memory.encoder)
    for name, (other, settings, encoder) in others.items():
        if other == corpus and (settings, encoder) != (audit.deduplication, audit.encoder):
            raise ValueError(
                f"{corpus}: the audits parrot and {name} both deduplicate it; give them the same "
                "encoder and the same section `deduplication`"
            )
