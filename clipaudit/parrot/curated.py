"""The names of the parrot audit's curated sets and models, and what each is made by.

A *curation* is a criterion; with a size it is a *set*, whose manifest is `<curation>-<size>`, such
as `cotr-0.3-3000000`. The debiased subset has no size: it is all that meets the criterion. Held out
of all sets are two more, `heldout-without-text` and `heldout-parrot`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from clipaudit.config.training import Encoder
from clipaudit.parrot.settings import Curations, Parrot

Family = Literal["text", "cotr", "rsa", "rsc", "debiased", "heldout"]
Kind = Literal["random", "without-text", "with-text", "cotr", "rsa", "rsc", "debiased"]
HELDOUT = ("heldout-without-text", "heldout-parrot")


@dataclass(frozen=True)
class Curation:
    """A criterion: samples of one kind whose rate, RSA or RSC is within bounds."""

    name: str
    family: Family
    kind: Kind
    title: str
    at_least: float | None = None
    above: float | None = None
    below: float | None = None
    exactly: float | None = None


@dataclass(frozen=True)
class CuratedSet:
    """A curation of a size; None: all that meets the criterion."""

    curation: Curation
    size: int | None

    @property
    def name(self) -> str:
        """The set's manifest."""
        return self.curation.name if self.size is None else f"{self.curation.name}-{self.size}"


def curations(settings: Curations) -> list[Curation]:
    """Return all curations, in the order of the paper's tables; the debiased subset is the last."""
    found = [
        Curation("random", "text", "random", "random"),
        Curation("without-text", "text", "without-text", "w/o emb. text"),
        Curation("with-text", "text", "with-text", "w/ emb. text only"),
        Curation("cotr-0", "cotr", "cotr", "CoTR = 0", exactly=0.0),
    ]
    found += [
        Curation("cotr-1", "cotr", "cotr", "CoTR = 1", exactly=1.0)
        if rate == 1
        else Curation(f"cotr-{rate:g}", "cotr", "cotr", f"CoTR ≥ {rate:g}", at_least=rate)
        for rate in settings.rates
    ]
    found += _relative("rsa", settings.rsa) + _relative("rsc", settings.rsc)
    if settings.debiased is not None:
        score = settings.debiased.score
        found.append(Curation("debiased", "debiased", "debiased", "debiased", above=score))
    return found


def _relative(kind: Literal["rsa", "rsc"], thresholds: Sequence[float]) -> list[Curation]:
    """Return the curations by a relative score: below the first threshold, and from each on."""
    if not thresholds:
        return []
    first, title = thresholds[0], kind.upper()
    lowest = Curation(f"{kind}-below-{first:g}", kind, kind, f"{title} < {first:.1f}", below=first)
    others = [
        Curation(f"{kind}-{bound:g}", kind, kind, f"{title} ≥ {bound:.1f}", at_least=bound)
        for bound in thresholds
    ]
    return [lowest, *others]


def heldout(settings: Curations) -> dict[str, Curation]:
    """Return the curations of the two held-out sets."""
    (clean, parrot), rsc = HELDOUT, settings.parrot_rsc
    return {
        clean: Curation(clean, "heldout", "without-text", "w/o emb. text"),
        parrot: Curation(parrot, "heldout", "rsc", f"RSC > {rsc:g}", above=rsc),
    }


def curated_sets(settings: Curations) -> dict[str, CuratedSet]:
    """Return all sets by name, the smallest size first."""
    found = [
        CuratedSet(curation, None if curation.kind == "debiased" else size)
        for size in sorted(settings.sizes)
        for curation in curations(settings)
    ]
    return {each.name: each for each in found}


def curation_settings(audit: Parrot, name: str) -> dict[str, object]:
    """Return what decides who is in a set: the fields of `parrot.criteria.Curation`."""
    settings = audit.curations
    assert settings is not None, "a set belongs to curations"
    held_out = {each: CuratedSet(it, settings.heldout) for each, it in heldout(settings).items()}
    chosen = (held_out | curated_sets(settings))[name]
    curation = chosen.curation
    bounds = ("at_least", "below", "above", "exactly")
    asks = settings.debiased if curation.kind == "debiased" else None
    return {
        "name": name,
        "kind": curation.kind,
        **{bound: getattr(curation, bound) for bound in bounds},
        "aesthetics_above": asks.aesthetics if asks and asks.aesthetics_field else None,
        "size": chosen.size,
        "seed": settings.seed,
        "tokenization": audit.tokenization,
    }


def curated_manifests(audit: Parrot) -> dict[str, dict[str, str]]:
    """Return the manifests of all sets, each of the one corpus."""
    if audit.curations is None:
        return {}
    corpus = audit.curations.corpus
    return {name: {corpus: name} for name in [*HELDOUT, *curated_sets(audit.curations)]}


def in_grid(settings: Curations) -> list[tuple[str, str]]:
    """Return the models that are trained, each (recipe, set), in the order of the sets."""
    return [
        (recipe, name)
        for name in curated_sets(settings)
        for recipe in settings.recipes
        if settings.grid is None or f"{recipe}/{name}" in settings.grid
    ]


def trained_models(audit: Parrot) -> list[tuple[str, str]]:
    """Return the models of the grid, then those that the evidence needs besides."""
    if audit.curations is None:
        return []
    found = in_grid(audit.curations)
    if audit.evidence is not None:
        arms = (audit.evidence.parrot, audit.evidence.clean)
        found += [(recipe, arm) for recipe in audit.evidence.recipes for arm in arms]
    return list(dict.fromkeys(found))


def model_encoder(recipe: str, manifest: str) -> str:
    """Return the name of the encoder that a model trained on a set is.

    >>> model_encoder("words", "random-600")
    'words.random-600'
    """
    return f"{recipe}.{manifest}"


def derived_model_encoders(audit: Parrot) -> dict[str, Encoder]:
    """Return the models that are trained on curated sets, as encoders."""
    return {
        model_encoder(recipe, name): Encoder.model_validate({"model": f"{recipe}/{name}"})
        for recipe, name in trained_models(audit)
    }
