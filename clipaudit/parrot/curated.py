"""The names of the parrot audit's curated sets and models, and their definitions.

A *curation* is a criterion; with a size it is a *set*, whose manifest is `<curation>-<size>`, such
as `cotr-0.3-3000000`. The debiased subset has no size: it is all that meets the criterion. Two more
sets, `heldout-without-text` and `heldout-parrot`, are held out of all others. A set may have
*controls*, the same samples with one change: `cotr-0.3-3000000.erased`, `cotr-0.3-3000000.swapped`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from clipaudit.config.training import Encoder
from clipaudit.parrot.curated_settings import Curations, Evidence
from clipaudit.parrot.kinds import Kind
from clipaudit.parrot.settings import Parrot

Family = Literal["text", "cotr", "rsa", "rsc", "filter", "debiased", "heldout"]
Control = Literal["erased", "swapped"]
HELDOUT = ("heldout-without-text", "heldout-parrot")
HELDOUT_SAMPLES = "heldout"  # the samples of both
FEW_SHARDS = 100  # a training run reads their headers in seconds
FEW_A_SHARD = 1_000  # kept samples: a tenth of an img2dataset shard
OR_TEXTLESS = " or no text"
CONTROLS: dict[Control, str] = {"erased": "text erased", "swapped": "captions swapped"}


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
    textless: bool = False  # of the RSA: samples without text count as 0

    @property
    def papers_title(self) -> str:
        """The paper's title, which does not say whether RSA >= 0 has samples without text."""
        return self.title.removesuffix(OR_TEXTLESS)


@dataclass(frozen=True)
class CuratedSet:
    """A curation with a size; None takes all samples that meet the criterion."""

    curation: Curation
    size: int | None
    control: Control | None = None  # what is changed in its samples

    @property
    def members(self) -> str:
        """The name of the set that lists the samples; a control has those of another set."""
        return self.curation.name if self.size is None else f"{self.curation.name}-{self.size}"

    @property
    def name(self) -> str:
        """The name of the set's manifest."""
        return self.members if self.control is None else f"{self.members}.{self.control}"


_FILTERS: dict[str, Curation] = {
    "score": Curation("top-score", "filter", "top-score", "highest score"),
    "masked": Curation("top-masked", "filter", "top-masked", "highest masked score"),
    "stated": Curation("top-stated", "filter", "top-stated", "highest stated score"),
    "basic": Curation("basic", "filter", "basic", "basic"),
    "text": Curation("text-based", "filter", "text", "text-based"),
}


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
        else Curation(f"cotr-{_short(rate)}", "cotr", "cotr", f"CoTR ≥ {rate}", at_least=rate)
        for rate in settings.rates
    ]
    for curation in _relative("rsa", settings.rsa):
        found.append(curation)
        bound = curation.at_least
        if settings.textless_rsa and bound is not None and bound <= 0:
            names = f"{curation.name}-or-textless", f"{curation.title}{OR_TEXTLESS}"
            found.append(replace(curation, name=names[0], title=names[1], textless=True))
    found += _relative("rsc", settings.rsc)
    found += [_FILTERS[name] for name in dict.fromkeys(settings.filters)]
    if settings.debiased is not None:
        score = settings.debiased.score
        found.append(Curation("debiased", "debiased", "debiased", "debiased", above=score))
    return found


def _relative(kind: Literal["rsa", "rsc"], thresholds: Sequence[float]) -> list[Curation]:
    """Return the curations by a relative score: below the first threshold, and at least each."""
    if not thresholds:
        return []
    first, title = thresholds[0], kind.upper()
    name = f"{kind}-below-{_short(first)}"
    lowest = Curation(name, kind, kind, f"{title} < {first}", below=first)
    others = [
        Curation(f"{kind}-{_short(bound)}", kind, kind, f"{title} ≥ {bound}", at_least=bound)
        for bound in thresholds
    ]
    return [lowest, *others]


def _short(bound: float) -> str:
    """Return a bound as in names, with all its digits: sets of different bounds differ in name.

    >>> _short(0.0), _short(0.15), _short(0.30000001)
    ('0', '0.15', '0.30000001')
    """
    return str(bound).removesuffix(".0")


def heldout(settings: Curations) -> dict[str, Curation]:
    """Return the curations of the two held-out sets."""
    (clean, parrot), rsc = HELDOUT, settings.parrot_rsc
    return {
        clean: Curation(clean, "heldout", "without-text", "w/o emb. text"),
        parrot: Curation(parrot, "heldout", "rsc", f"RSC > {_short(rsc)}", above=rsc),
    }


def curated_sets(settings: Curations) -> dict[str, CuratedSet]:
    """Return all sets by name, the smallest size first, each followed by its controls."""
    found = [
        each
        for size in sorted(settings.sizes)
        for curation in curations(settings)
        for each in _with_controls(
            CuratedSet(curation, None if curation.kind == "debiased" else size), settings
        )
    ]
    return {each.name: each for each in found}


def _with_controls(each: CuratedSet, settings: Curations) -> list[CuratedSet]:
    """Return a set and, if its captions parrot, its controls."""
    curation = each.curation
    if curation.kind != "cotr" or curation.exactly == 0:
        return [each]
    return [each] + [
        replace(
            each,
            curation=replace(curation, title=f"{curation.title}, {CONTROLS[control]}"),
            control=control,
        )
        for control in dict.fromkeys(settings.controls)
    ]


def curation_settings(audit: Parrot, name: str) -> dict[str, object]:
    """Return the fields of `parrot.criteria.Curation` that define a set."""
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
        **({"textless": True} if curation.textless else {}),
        "size": chosen.size,
        "seed": settings.seed,
        "tokenization": audit.tokenization,
    }


def curated_manifests(audit: Parrot) -> dict[str, dict[str, str]]:
    """Return the manifests of all sets, all of the same corpus."""
    if audit.curations is None:
        return {}
    corpus, sets = audit.curations.corpus, curated_sets(audit.curations)
    members = dict(zip(HELDOUT, HELDOUT, strict=True))
    members |= {name: each.members for name, each in sets.items()}
    return {name: {corpus: pruning} for name, pruning in members.items()}


def in_grid(settings: Curations) -> list[tuple[str, str]]:
    """Return the models that are trained, each (recipe, set), in the order of the sets.

    A grid that names a model includes its controls.
    """
    return [
        (recipe, name)
        for name, each in curated_sets(settings).items()
        for recipe in settings.recipes_for(each.size)
        if settings.grid is None
        or f"{recipe}/{name}" in settings.grid
        or f"{recipe}/{each.members}" in settings.grid
    ]


def trained_models(audit: Parrot) -> list[tuple[str, str]]:
    """Return the models of the grid, then further ones that the evidence needs."""
    if audit.curations is None:
        return []
    found = in_grid(audit.curations)
    if audit.evidence is not None:
        arms = evidence_arms(audit.evidence, audit.curations).values()
        found += [(recipe, arm) for recipe in audit.evidence.recipes for arm in arms]
    return list(dict.fromkeys(found))


def evidence_arms(asked: Evidence, settings: Curations) -> dict[str, str]:
    """Return the set of each arm of the evidence: parrot, each of its controls, clean.

    A control that the settings name as parrot or clean is no further arm.
    """
    sets = curated_sets(settings)
    own = sets[asked.parrot]
    controls: dict[str, str] = {
        each.control: name
        for name, each in sets.items()
        if each.control is not None
        and each.members == own.members
        and name not in (asked.parrot, asked.clean)
    }
    return {"parrot": asked.parrot, **controls, "clean": asked.clean}


@dataclass(frozen=True)
class Repacking:
    """The contents of a repacked manifest: the samples of some sets, and a control."""

    members: tuple[str, ...]
    control: Control | None = None


def repacked(audit: Parrot, *, shards: int) -> dict[str, Repacking]:
    """Return the repacked manifests of a corpus with this many shards, by name.

    They are the held-out samples, all controls that models train on, and the other trained sets
    that `curations.repack` asks for. `auto` decides by the number of shards and the set's stated
    size: the number of samples in a shard is unknown before indexing.
    """
    settings = audit.curations
    if settings is None:
        return {}
    sets = curated_sets(settings)
    found = {HELDOUT_SAMPLES: Repacking(HELDOUT)}
    for name in dict.fromkeys(name for _, name in trained_models(audit)):
        each = sets[name]
        small = each.size is not None and each.size < FEW_A_SHARD * shards
        asked = {"always": True, "never": False, "auto": small and shards > FEW_SHARDS}
        if each.control is not None or asked[settings.repack]:
            found[name] = Repacking((each.members,), each.control)
    return found


def model_encoder(recipe: str, manifest: str) -> str:
    """Return the name, as an encoder, of a model trained on a set.

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
