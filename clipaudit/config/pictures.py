"""Corpora without images: reject or omit what needs images.

A corpus listed by `metadata` has samples and possibly precomputed embeddings. The similarity audit
needs no more than these; no model is trained or evaluated on the corpus.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clipaudit.errors import ConfigError

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


def has_pictures(run: "Settings", corpus: str) -> bool:
    """Return whether a corpus has images; a split has those of its source corpus."""
    return run.corpora[run.source(corpus)].metadata is None


def pictured(run: "Settings", corpora: Sequence[str]) -> list[str]:
    """Return the corpora that have images, in their order."""
    return [name for name in corpora if has_pictures(run, name)]


def require_pictures(run: "Settings", corpora: Sequence[str]) -> None:
    """Raise ConfigError for the first of some corpora without images."""
    for name in corpora:
        if not has_pictures(run, name):
            raise ConfigError(
                f"{name} has no images: it is listed by corpora.{run.source(name)}.metadata, and "
                "this step reads images. Name its tar files under `shards`, or request a step that "
                "reads only samples and embeddings."
            )


def can_train(run: "Settings", manifest: str) -> bool:
    """Return whether a model can be trained on a manifest: all of its corpora have images."""
    if all(corpus.metadata is None for corpus in run.corpora.values()):
        return True
    return all(has_pictures(run, corpus) for corpus in run.manifests()[manifest])


def left_out(run: "Settings") -> list[str]:
    """Return sentences about what audits omit because images are missing."""
    return [each for audit, section in run.audits() for each in audit.left_out(run, section)]


def without_pictures(run: "Settings", corpora: Sequence[str], so: str) -> Iterator[str]:
    """Yield the sentence `so` about the corpora without images, if there are any."""
    titles = [run.title(name) for name in dict.fromkeys(corpora) if not has_pictures(run, name)]
    if titles:
        has, them = ("has", "it") if len(titles) == 1 else ("have", "them")
        yield f"{', '.join(titles)} {has} no images: {so.format(them=them)}"


# --- checks, each raises ValueError -----------------------------------------------------------


def check_pictures(run: "Settings") -> None:
    """Reject settings that need images of a corpus without images."""
    for where, name in _asked_for_pictures(run):
        if not has_pictures(run, name):
            raise ValueError(
                f"{where}: {name} has no images, because corpora.{run.source(name)} is listed by "
                "`metadata`; name a corpus with `shards`"
            )
    for where, manifest in _asked_for_models(run):
        for name in run.manifests()[manifest]:
            if not has_pictures(run, name):
                raise ValueError(
                    f"{where}: no model can be trained on {manifest}, because {name} has no "
                    "images; name another"
                )


def _asked_for_pictures(run: "Settings") -> Iterator[tuple[str, str]]:
    """Yield the settings whose corpora must have images, with each corpus."""
    for name, corpus in run.corpora.items():
        if corpus.blurred is not None:
            yield f"corpora.{name}.blurred.of", corpus.blurred.of
    for audit, section in run.audits():
        yield from audit.pictured(section)


def _asked_for_models(run: "Settings") -> Iterator[tuple[str, str]]:
    """Yield the settings that name a model to be trained here, with its manifest."""
    for name, encoder in run.encoders.items():
        if encoder.model is not None:
            yield f"encoders.{name}.model", encoder.model.partition("/")[2]
    for name, recipe in run.recipes.items():
        if recipe.start_from is not None:
            yield f"recipes.{name}.start_from", recipe.start_from.manifest
