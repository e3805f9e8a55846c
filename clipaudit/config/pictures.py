"""Corpora without pictures: what needs pictures is refused, or left out where that can be.

A corpus that `metadata` lists has samples and, given by others, embeddings. The similarity audit
asks no more of it than that; no model is trained or evaluated on it.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clipaudit.config.memorization import Memorization
from clipaudit.config.parrot import Parrot
from clipaudit.config.prunings import bases, web
from clipaudit.config.similarity import Similarity
from clipaudit.errors import ConfigError

if TYPE_CHECKING:
    from clipaudit.config.run import Run


def has_pictures(run: "Run", corpus: str) -> bool:
    """Return whether a corpus has pictures; a split has those of the corpus that it is of."""
    return run.corpora[run.source(corpus)].metadata is None


def pictured(run: "Run", corpora: Sequence[str]) -> list[str]:
    """Return the corpora that have pictures, in their order."""
    return [name for name in corpora if has_pictures(run, name)]


def require_pictures(run: "Run", corpora: Sequence[str]) -> None:
    """Raise ConfigError for the first of some corpora that has no pictures."""
    for name in corpora:
        if not has_pictures(run, name):
            raise ConfigError(
                f"{name} has no pictures: it is listed by corpora.{run.source(name)}.metadata, and "
                "this step reads pictures. Name its tar files under `shards`, or ask for a step "
                "that reads samples and embeddings alone."
            )


def can_train(run: "Run", manifest: str) -> bool:
    """Return whether a model can be trained on a manifest: all of its corpora have pictures."""
    if all(corpus.metadata is None for corpus in run.corpora.values()):
        return True
    return all(has_pictures(run, corpus) for corpus in run.manifests()[manifest])


def can_show_evidence(run: "Run", audit: Similarity) -> bool:
    """Return whether the evidence over several seeds is asked for and has its models and images."""
    evidence = audit.evidence
    if evidence is None:
        return False
    trained, tests = (bases(audit)[0], web(audit)), (evidence.pruning, evidence.reference)
    return all(can_train(run, each) for each in trained) and all(
        has_pictures(run, each) for each in tests
    )


def left_out(run: "Run") -> list[str]:
    """Return what the similarity audit leaves out for want of pictures, in sentences."""
    audit = run.similarity
    if audit is None:
        return []
    trained = [audit.large, audit.small]
    tests = [*audit.test_sets, *audit.control_sets, *(each.test for each in audit.pairs.values())]
    found = [
        *_without(run, trained, "no model is trained on {them}, so none is in this grid."),
        *_without(run, tests, "no model is evaluated on {them}."),
    ]
    if audit.evidence is not None and not can_show_evidence(run, audit):
        found.append("So the evidence over several seeds is left out.")
    return found


def _without(run: "Run", corpora: Sequence[str], so: str) -> Iterator[str]:
    """Yield the sentence of those among some corpora that have no pictures, if there are any."""
    titles = [run.title(name) for name in dict.fromkeys(corpora) if not has_pictures(run, name)]
    if titles:
        has, them = ("has", "it") if len(titles) == 1 else ("have", "them")
        yield f"{', '.join(titles)} {has} no pictures: {so.format(them=them)}"


# --- checks, each raises ValueError -----------------------------------------------------------


def check_pictures(run: "Run") -> None:
    """Refuse settings that ask for pictures of a corpus that has none."""
    for where, name in _asked_for_pictures(run):
        if not has_pictures(run, name):
            raise ValueError(
                f"{where}: {name} has no pictures, since corpora.{run.source(name)} is listed by "
                "`metadata`; name a corpus of `shards`"
            )
    for where, manifest in _asked_for_models(run):
        for name in run.manifests()[manifest]:
            if not has_pictures(run, name):
                raise ValueError(
                    f"{where}: no model is trained on {manifest}, since {name} has no pictures; "
                    "name another"
                )
    if run.similarity is not None:
        _check_given(run, run.similarity)


def _asked_for_pictures(run: "Run") -> Iterator[tuple[str, str]]:
    """Yield the settings whose corpora must have pictures, with each corpus."""
    for name, corpus in run.corpora.items():
        if corpus.blurred is not None:
            yield f"corpora.{name}.blurred.of", corpus.blurred.of
    if run.memorization is not None:
        yield from _of_memorization(run.memorization)
    if run.parrot is not None:
        yield from _of_parrot(run.parrot)


def _of_memorization(audit: Memorization) -> Iterator[tuple[str, str]]:
    yield from ((f"memorization.sources.{name}", name) for name in audit.sources)
    yield from (("memorization.utility", name) for name in audit.utility)
    for name, selection in audit.selections.items():
        yield f"memorization.selections.{name}.corpus", selection.corpus


def _of_parrot(audit: Parrot) -> Iterator[tuple[str, str]]:
    named = {"corpora": audit.corpora, "test_sets": audit.test_sets, "retrieval": audit.retrieval}
    yield from ((f"parrot.{key}", name) for key, names in named.items() for name in names)


def _asked_for_models(run: "Run") -> Iterator[tuple[str, str]]:
    """Yield the settings that name a model to be trained here, with its manifest."""
    for name, encoder in run.encoders.items():
        if encoder.model is not None:
            yield f"encoders.{name}.model", encoder.model.partition("/")[2]
    for name, recipe in run.recipes.items():
        if recipe.start_from is not None:
            yield f"recipes.{name}.start_from", recipe.start_from.manifest


def _check_given(run: "Run", audit: Similarity) -> None:
    """Refuse an encoder that is to embed a corpus without pictures."""
    pairs = audit.pairs.values()
    searched = [audit.large, audit.small, *audit.test_sets]
    searched += [name for pair in pairs for name in (pair.small, pair.test)]
    embedded = [("encoder", audit.encoder, searched)]
    if audit.second_encoder is not None:
        second = [audit.small, *audit.test_sets]
        embedded.append(("second_encoder", audit.second_encoder, second))
    given = run.given_embeddings()
    for key, encoder, corpora in embedded:
        for source in map(run.source, corpora):
            if not has_pictures(run, source) and (encoder, source) not in given:
                raise ValueError(
                    f"similarity.{key}: {encoder} cannot embed {source}, which has no pictures; "
                    "name its embeddings under `embeddings`"
                )
