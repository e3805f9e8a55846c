"""Checks the similarity audit against the other sections, and says what is left out."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clipaudit.config.audits import Asked
from clipaudit.config.checks import check_own_training, known, reads_text
from clipaudit.config.manifests import ALL, DEDUPLICATED, Size
from clipaudit.config.pictures import can_train, has_pictures, pictured, without_pictures
from clipaudit.similarity.prunings import bases, similarity_manifests, web
from clipaudit.similarity.settings import Similarity
from clipaudit.steps.paths import CLASSIFIER

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


def check(run: "Settings", audit: Similarity) -> None:
    """Raise ValueError for a similarity audit that does not fit the other sections."""
    compared = {"large": audit.large, **({"small": audit.small} if audit.small else {})}
    named = {key: [name] for key, name in compared.items()}
    named |= {f"pairs.{name}": [pair.small] for name, pair in audit.pairs.items()}
    for key, names in named.items():
        for name in names:
            known(name, run.corpora, f"similarity.{key}", "corpora")
    for key, name in compared.items():
        if run.corpora[name].is_split:
            raise ValueError(f"similarity.{key}: {name} is a split, which has no manifests")
    _check_base(run, audit)
    _check_models(run, audit)
    _check_test_sets(run, audit)
    if audit.grid is not None:
        for manifest in audit.grid:
            known(manifest, run.manifests(), "similarity.grid", "the manifests of this run")
    _check_given(run, audit)
    _check_calibrated(run, audit)


def _check_base(run: "Settings", audit: Similarity) -> None:
    """Raise ValueError for a base that no audit makes."""
    made = {ALL, DEDUPLICATED}
    for other, section in run.audits():
        if not (other.draws_sets or isinstance(section, Similarity)):
            made |= {
                corpora[audit.large]
                for corpora in other.manifests(run, section).values()
                if audit.large in corpora
            }
    known(audit.base, made, "similarity.base", f"the prunings of {audit.large}")


def _check_models(run: "Settings", audit: Similarity) -> None:
    known(audit.encoder, run.encoders, "similarity.encoder", "encoders")
    chosen = [
        name
        for name, prunings in similarity_manifests(audit).items()
        if any("." in pruning or pruning == DEDUPLICATED for pruning in prunings.values())
    ]
    check_own_training(run, audit.encoder, chosen, "similarity.encoder", audit.large)
    for name in audit.other_encoders:
        known(name, run.encoders, "similarity.other_encoders", "encoders")
    known(audit.recipe, run.recipes, "similarity.recipe", "recipes")
    for name in audit.released:
        key = "pretrained" if name in audit.pretrained else "large_model"
        known(name, run.encoders, f"similarity.{key}", "encoders")
        reads_text(run, name, f"similarity.{key}")
    for name in audit.classifiers:
        known(name, run.classifiers, "similarity.classifiers", "classifiers")
    if audit.supervised is not None:
        recipe = audit.supervised.recipe
        known(recipe, run.supervised_recipes, "similarity.supervised", "supervised_recipes")
        if recipe in run.recipes:
            raise ValueError(f"supervised_recipes.{recipe}: a recipe has the same name; rename one")
    by_labels = audit.supervised or audit.classifiers
    if audit.small is not None and by_labels and run.corpora[audit.small].labels is None:
        raise ValueError(f"corpora.{audit.small}.labels: classifiers need labels")


def _check_test_sets(run: "Settings", audit: Similarity) -> None:
    named = {
        "test_sets": audit.test_sets,
        "control_sets": audit.control_sets,
        "pairs": [pair.test for pair in audit.pairs.values()],
    }
    for key, names in named.items():
        for name in names:
            known(name, run.corpora, f"similarity.{key}", "corpora")
    chosen = {
        "main_sets": audit.main_sets or [],
        "evidence": [audit.evidence.pruning, audit.evidence.reference] if audit.evidence else [],
        "dose_response": [audit.dose_response.test_set] if audit.dose_response else [],
        "near_far.queries": audit.near_far.queries if audit.near_far else [],
        "robustness": _robustness_sets(audit),
    }
    for key, names in chosen.items():
        for name in names:
            known(name, audit.test_sets, f"similarity.{key}", "similarity.test_sets")
    on_line = [name for _, name in models_of_small(run, audit)]
    for name in (audit.robustness.models or []) if audit.robustness else []:
        room = "classifiers and the manifests that supervised models are trained on"
        known(name, on_line, "similarity.robustness.models", room)


def _robustness_sets(audit: Similarity) -> list[str]:
    robustness = audit.robustness
    if robustness is None:
        return []
    return [robustness.reference, *(name for point in robustness.points for name in point)]


def models_of_small(run: "Settings", audit: Similarity) -> list[tuple[str, str]]:
    """Return recipe and manifest of the models of the small set alone: classifiers, supervised."""
    models = [(CLASSIFIER, name) for name in audit.classifiers]
    if audit.supervised is not None:
        recipe = audit.supervised.recipe
        made_of = run.manifests().items()
        models += [(recipe, name) for name, corpora in made_of if set(corpora) == {audit.small}]
    return models


def evaluated(run: "Settings", test_sets: Sequence[str]) -> list[str]:
    """Return the test sets that models can be evaluated on: those with images and labels."""
    return [name for name in pictured(run, test_sets) if run.corpora[name].labels is not None]


def classified(run: "Settings", audit: Similarity) -> list[str]:
    """Return the test sets whose labels are classes of the small set, or are mapped to these."""
    if audit.small is None:
        return []
    learned = run.corpora[audit.small].labels
    tests = {name: run.corpora[name] for name in evaluated(run, audit.test_sets)}
    return [
        name
        for name, test in tests.items()
        if learned in (test.labels, test.label_map and test.label_map.to)
    ]


def can_show_evidence(run: "Settings", audit: Similarity) -> bool:
    """Return whether evidence over several seeds is requested and has its models and images."""
    evidence = audit.evidence
    if evidence is None:
        return False
    trained, tests = (bases(audit)[0], web(audit)), (evidence.pruning, evidence.reference)
    return all(can_train(run, each) for each in trained) and len(evaluated(run, tests)) == 2


def left_out(run: "Settings", audit: Similarity) -> list[str]:
    """Return what is left out for lack of images, labels, a recipe or a small set."""
    trained = [audit.large, *([audit.small] if audit.small else [])]
    tests = [*audit.test_sets, *audit.control_sets, *(each.test for each in audit.pairs.values())]
    found = [
        *without_pictures(run, trained, "no model is trained on {them}, so none is in this grid."),
        *without_pictures(run, tests, "no model is evaluated on {them}."),
    ]
    bare = [name for name in pictured(run, tests) if run.corpora[name].labels is None]
    if bare and (audit.recipe or audit.released):
        titles = ", ".join(run.title(name) for name in dict.fromkeys(bare))
        found.append(f"{titles}: no labels, so no model is evaluated there.")
    other = set(evaluated(run, audit.test_sets)) - set(classified(run, audit))
    if other and audit.small is not None and (audit.classifiers or audit.supervised):
        titles = ", ".join(run.title(name) for name in audit.test_sets if name in other)
        found.append(
            f"{titles}: classifiers learned the labels of {run.title(audit.small)}, and no "
            "label_map maps to these, so no classifier is tested there."
        )
    if audit.recipe is None:
        found.append("No recipe is named (similarity.recipe), so no model is trained.")
    if audit.small is None:
        found.append("No small set is named (similarity.small), so nothing is pruned to gaps.")
    if audit.evidence is not None and not can_show_evidence(run, audit):
        found.append("So the evidence over several seeds is left out.")
    return found


def _check_given(run: "Settings", audit: Similarity) -> None:
    """Raise ValueError for an encoder that must embed a corpus without images."""
    pairs = audit.pairs.values()
    small = [audit.small] if audit.small else []
    searched = [audit.large, *small, *audit.test_sets]
    searched += [name for pair in pairs for name in (pair.small, pair.test)]
    embedded = [("encoder", audit.encoder, searched)]
    compared = [audit.large] if audit.compare_prunings else []
    compared += [*small, *audit.test_sets]
    embedded += [("other_encoders", name, compared) for name in audit.other_encoders]
    given = run.given_embeddings()
    for key, encoder, corpora in embedded:
        for source in map(run.source, corpora):
            if not has_pictures(run, source) and (encoder, source) not in given:
                is_spared = key == "other_encoders" and source == audit.large
                instead = ", or set similarity.compare_prunings to false" if is_spared else ""
                raise ValueError(
                    f"similarity.{key}: {encoder} cannot embed {source}, which has no images; "
                    f"name its embeddings under `embeddings`{instead}"
                )


def _check_calibrated(run: "Settings", audit: Similarity) -> None:
    """Raise ValueError for a calibrated distance of an encoder without a calibration."""
    if audit.given_distance is not None:
        return
    calibrated = {
        name for other, section in run.audits() for name in other.calibrated_encoders(section)
    }
    if audit.encoder not in calibrated:
        names = ", ".join(sorted(calibrated)) or "none"
        raise ValueError(
            f"similarity.near_duplicate_distance: calibrated, but no audit calibrates the encoder "
            f"{audit.encoder}; calibrated are: {names}. Add it to an audit that calibrates "
            "encoders, or give a distance as a number"
        )


def asks(_: "Settings", audit: Similarity) -> Iterator[Asked]:
    """Yield how many samples prunings by a count and the core set need.

    Fractions and default counts need none.
    """
    removed: list[tuple[str, str, Size]] = []
    near_far = audit.near_far
    if near_far is not None:
        removed += [("near_far", audit.large, size) for size in near_far.removed or []]
    if audit.evidence is not None and audit.evidence.removed is not None:
        removed.append(("evidence", audit.large, audit.evidence.removed))
    if audit.supervised is not None and audit.small is not None:
        removed += [("supervised", audit.small, size) for size in audit.supervised.removed]
    for section, corpus, size in removed:
        if isinstance(size, int):
            what = f"{size:,} samples are removed and 1 or more must be kept"
            yield Asked(f"similarity.{section}.removed", corpus, size + 1, what)
    for size in (near_far.kept or []) if near_far is not None else []:
        if isinstance(size, int):
            what = f"{size:,} samples are kept"
            yield Asked("similarity.near_far.kept", audit.large, size, what)
    core = audit.core_set
    if core is not None and "kept" in core.model_fields_set and isinstance(core.kept, int):
        what = f"{core.kept:,} samples are kept"
        yield Asked("similarity.core_set.kept", audit.large, core.kept, what)
