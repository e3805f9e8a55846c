"""Check the parrot-caption audit's settings against the other sections."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clipaudit.config.audits import Asked
from clipaudit.config.checks import check_own_training, check_plugin, known, reads_text
from clipaudit.config.training import Recipe
from clipaudit.parrot.curated import curated_manifests, curated_sets, derived_model_encoders
from clipaudit.parrot.settings import OWN_SPOTTERS, Parrot

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


def check(run: "Settings", audit: Parrot) -> None:
    """Raise ValueError for a parrot-caption audit that does not fit the other sections."""
    for name in audit.corpora:
        known(name, run.corpora, "parrot.corpora", "corpora")
        if run.corpora[name].is_split:
            raise ValueError(f"parrot.corpora: {name} is a split; name its corpus")
        _needs_captions(run, name, "parrot.corpora")
    for name in audit.checked:
        known(name, audit.corpora, "parrot.checked", "parrot.corpora")
    where = f"parrot.spotting.spotter ({', '.join(OWN_SPOTTERS)} or a plug-in)"
    check_plugin("spotters", audit.spotting.plugin, where)
    _check_given(audit)
    of_setting = {"encoders": audit.encoders, "probed": audit.probed}
    if audit.encoder is not None:
        of_setting = {"encoder": [audit.encoder], **of_setting}
    for key, names in of_setting.items():
        for name in names:
            known(name, run.encoders, f"parrot.{key}", "encoders")
            reads_text(run, name, f"parrot.{key}")
    for key, names in _test_sets(audit).items():
        for name in names:
            known(name, run.corpora, f"parrot.{key}", "corpora")
            if run.corpora[name].labels is None:
                raise ValueError(f"corpora.{name}.labels: a test set needs labels")
    for name in audit.retrieval:
        known(name, run.corpora, "parrot.retrieval", "corpora")
        _needs_captions(run, name, "parrot.retrieval")
    _check_curated_models(run, audit)
    if audit.attack is not None and audit.attack.encoders is not None:
        where, trained = "parrot.attack.encoders", derived_model_encoders(audit)
        for name in audit.attack.encoders:
            known(name, [*run.encoders, *trained], where, "encoders and models of curated sets")
            if name not in trained:
                reads_text(run, name, where)


def _test_sets(audit: Parrot) -> dict[str, list[str]]:
    """Return the labelled test sets, by the settings that name them."""
    found, attack = {"test_sets": audit.test_sets}, audit.attack
    if attack is not None:
        found |= {"attack.test_sets": attack.test_sets, "attack.stated": [*attack.stated]}
    return found


def _check_given(audit: Parrot) -> None:
    given = audit.spotting.given
    for name in given:
        known(name, audit.corpora, "parrot.spotting.given", "parrot.corpora")
    lacking = [name for name in audit.corpora if name not in given]
    if given and lacking:
        raise ValueError(
            f"parrot.spotting.given: no files for {', '.join(lacking)}; give files of one spotter "
            "for every corpus of parrot.corpora"
        )


def _needs_captions(run: "Settings", name: str, where: str) -> None:
    source = run.corpora[run.source(name)].captions
    if source not in ("text", "texts"):
        raise ValueError(
            f"{where}: corpora.{name}.captions is {source}; its images need their own captions: "
            "text or texts"
        )


def _check_curated_models(run: "Settings", audit: Parrot) -> None:
    settings = audit.curations
    if settings is None:
        return
    sets = curated_sets(settings)
    chosen = curated_manifests(audit)
    check_own_training(run, audit.encoder, chosen, "parrot.encoder", settings.corpus)
    evidence = audit.evidence
    of_setting = {"curations.recipes": settings.recipes}
    of_setting |= {
        f"curations.recipes_of_size.{size}": names
        for size, names in settings.recipes_of_size.items()
    }
    if settings.debiased is not None and settings.debiased.recipes is not None:
        of_setting["curations.debiased.recipes"] = settings.debiased.recipes
    if evidence is not None:
        of_setting["evidence.recipes"] = evidence.recipes
    for key, recipes in of_setting.items():
        for name in recipes:
            known(name, run.recipes, f"parrot.{key}", "recipes")
    models = {
        f"{recipe}/{name}"
        for name, each in sets.items()
        for recipe in settings.recipes_for(each.size)
    }
    for model in settings.grid or []:
        known(model, models, "parrot.curations.grid", "the models of its recipes and sets")
    if evidence is not None:
        known(evidence.parrot, sets, "parrot.evidence.parrot", "the sets of parrot.curations")
        known(evidence.clean, sets, "parrot.evidence.clean", "the sets of parrot.curations")
        _differ_in_seed(run, evidence.recipes)


def _differ_in_seed(run: "Settings", recipes: Sequence[str]) -> None:
    """Raise ValueError unless recipes differ in their seeds, and in nothing else."""
    first = run.recipes[recipes[0]]
    for name in recipes[1:]:
        other = run.recipes[name]
        differing = [
            setting
            for setting in Recipe.model_fields
            if setting != "seed" and getattr(other, setting) != getattr(first, setting)
        ]
        if differing:
            raise ValueError(
                f"parrot.evidence.recipes: {name} differs from {recipes[0]} in "
                f"{', '.join(differing)}; the evidence needs recipes that differ only in `seed`"
            )
    seeds = [run.recipes[name].seed for name in recipes]
    if len(set(seeds)) < len(seeds):
        raise ValueError(
            f"parrot.evidence.recipes: their seeds are {', '.join(map(str, seeds))}; give each "
            "recipe another seed"
        )


def left_out(_: "Settings", audit: Parrot) -> list[str]:
    """Return sentences on what is left out without an encoder."""
    if audit.encoder is not None:
        return []
    return [
        "parrot.encoder is not named, so no caption is scored: what erasing text costs, the probe, "
        "clusters and example images are left out. Rates of repeated words need none."
    ]


def pictured(audit: Parrot) -> Iterator[tuple[str, str]]:
    """Yield the settings whose corpora must have images, with each corpus."""
    named = {"corpora": audit.corpora, **_test_sets(audit), "retrieval": audit.retrieval}
    yield from ((f"parrot.{key}", name) for key, names in named.items() for name in names)


def asks(_: "Settings", audit: Parrot) -> Iterator[Asked]:
    """Yield the numbers of samples that sets and clusters ask for, if the settings state them."""
    settings, clusters = audit.curations, audit.clusters
    if settings is not None:
        where, given = "parrot.curations", settings.model_fields_set
        for size in settings.sizes if "sizes" in given else ():
            yield Asked(f"{where}.sizes", settings.corpus, size, f"sets of {size:,} samples")
        if "heldout" in given:
            held = settings.heldout
            yield Asked(f"{where}.heldout", settings.corpus, held, f"{held:,} samples are held out")
    for name in ("components", "clusters"):
        count = getattr(clusters, name)
        if count is not None and audit.encoder is not None:
            yield Asked(f"parrot.clusters.{name}", audit.corpora[0], count, f"{count:,} {name}")
