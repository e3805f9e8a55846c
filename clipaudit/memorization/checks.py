"""Check the memorization audit's settings against the other sections."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clipaudit.config.audits import Asked
from clipaudit.config.checks import check_own_training, check_plugin, known, reads_text
from clipaudit.memorization.points import points, set_manifests
from clipaudit.memorization.settings import OWN_ANNOTATORS, Memorization

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


def check(run: "Settings", audit: Memorization) -> None:
    """Raise ValueError for a memorization audit that does not fit the other sections."""
    for name in audit.sources:
        where = f"memorization.sources.{name}"
        known(name, run.corpora, where, "corpora")
        if run.corpora[name].is_split:
            raise ValueError(
                f"{where}: a split, but sets are drawn from whole corpora only; name its corpus"
            )
    where = f"memorization.objects.annotator ({', '.join(OWN_ANNOTATORS)} or a plug-in)"
    check_plugin("annotators", audit.objects.plugin, where)
    _check_given(audit)
    known(audit.recipe, run.recipes, "memorization.recipe", "recipes")
    known(audit.encoder, run.encoders, "memorization.encoder", "encoders")
    for name, sources in set_manifests(audit, run.recipes).items():
        for source in sources:
            if audit.sources[source].duplicates == "semantic":
                check_own_training(run, audit.encoder, [name], "memorization.encoder", source)
    for name in audit.baselines:
        known(name, run.encoders, "memorization.baselines", "encoders")
        reads_text(run, name, "memorization.baselines")
    given = [("targets", name) for name in audit.targets]
    given += [("reference", audit.reference)] if audit.reference else []
    given += [("text_encoder", audit.text_encoder)] if audit.text_encoder else []
    for key, name in given:
        known(name, run.encoders, f"memorization.{key}", "encoders")
        reads_text(run, name, f"memorization.{key}")
    for name in audit.utility:
        known(name, run.corpora, "memorization.utility", "corpora")
        if run.corpora[name].labels is None:
            raise ValueError(f"corpora.{name}.labels: a test set needs labels")
    for name, selection in audit.selections.items():
        known(selection.corpus, run.corpora, f"memorization.selections.{name}", "corpora")
    _check_points(run, audit)


def _check_given(audit: Memorization) -> None:
    given = audit.objects.given
    for name in given:
        known(name, audit.sources, "memorization.objects.given", "memorization.sources")
    lacking = [name for name in audit.sources if name not in given]
    if given and lacking:
        raise ValueError(
            f"memorization.objects.given: no files for {', '.join(lacking)}; objects are compared "
            "by their label, so give files of one detector for every source"
        )


def _check_points(run: "Settings", audit: Memorization) -> None:
    if audit.recipe is None:
        return
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


def pictured(audit: Memorization) -> Iterator[tuple[str, str]]:
    """Yield the settings whose corpora must have images, with each corpus."""
    yield from ((f"memorization.sources.{name}", name) for name in audit.sources)
    yield from (("memorization.utility", name) for name in audit.utility)
    for name, selection in audit.selections.items():
        yield f"memorization.selections.{name}.corpus", selection.corpus


def left_out(_: "Settings", audit: Memorization) -> list[str]:
    """Return sentences on what is left out without a recipe or a public set."""
    found = []
    if audit.recipe is None:
        found.append(
            "No recipe is named (memorization.recipe), so the audit trains no model. Results that "
            "compare two models are left out: gaps, the most memorized records, Figures 2 to 9."
        )
    if not audit.publics:
        found.append(
            "No source has a public set (memorization.sources), so no objects are looked up, and "
            "the pair tests stand alone."
        )
    return found


def asks(_: "Settings", audit: Memorization) -> Iterator[Asked]:
    """Yield the samples that the sets of each source ask for, and the images to look up."""
    for name in audit.sources:
        drawn = audit.drawn(name)
        if all(isinstance(size, int) for size in drawn.values()):
            sizes = ", ".join(f"{each} {size:,}" for each, size in drawn.items())
            what = f"disjoint sets of {sizes} samples"
            yield Asked(f"memorization.sources.{name}", name, int(sum(drawn.values())), what)
    most = max(audit.neighbors)
    for name in audit.publics if "neighbors" in audit.model_fields_set else []:
        share = audit.sources[name].public
        if isinstance(share, float):
            what = f"{most:,} images of a public set that is {share:g} of the corpus are looked up"
            yield Asked("memorization.neighbors", name, int(most / share) + 1, what)
