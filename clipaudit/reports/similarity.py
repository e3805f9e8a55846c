"""What the tables of the similarity audit are made from: rows, inputs and parameters.

One `ReportTable` a table of the paper. The SQL of a table sees its inputs as views of these names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clipaudit.config.run import Run
from clipaudit.config.similarity import Evidence, Similarity, pruned, randomly

PRETRAINED = "pretrained"  # stands for the recipe of models that were not trained here


@dataclass(frozen=True)
class ReportTable:
    """A table: its inputs by view name, as pointers relative to results/; small relations that
    come from the settings; and its parameters."""

    inputs: Mapping[str, Sequence[str]]
    relations: Mapping[str, Sequence[Mapping[str, object]]]
    parameters: Mapping[str, object]


def similarity_tables(run: Run) -> dict[str, ReportTable]:
    """Return the tables of the audit that the settings ask for, by name, in the paper's order."""
    audit = run.similarity
    if audit is None:
        return {}
    accuracies = {
        name: _accuracies(run, audit, with_small=with_small)
        for name, with_small in (("similarity_table1", True), ("similarity_table4", False))
        if with_small in audit.with_small
    }
    others = {
        "similarity_table2": _near_duplicates(run, audit),
        "similarity_table6": _near_gap(run, audit),
        "similarity_table7": _of_neighbors(run, audit),
    }
    if audit.evidence is not None:
        others["similarity_evidence"] = _evidence(run, audit, audit.evidence)
    return dict(sorted((accuracies | others).items()))


def _accuracies(run: Run, audit: Similarity, *, with_small: bool) -> ReportTable:
    """Tables 1 and 4: pretrained checkpoints, the base models, the models on pruned sets."""
    base = f"{audit.large}-and-{audit.small}" if with_small else audit.large
    title = _title(run, audit.large)
    rows = [_row(_title_of_encoder(run, name), PRETRAINED, name) for name in audit.pretrained]
    if with_small and False in audit.with_small:
        rows.append(_row(title, audit.recipe, audit.large))
    if with_small:
        title = f"{title} + {_title(run, audit.small)}"
    rows.append(_row(title, audit.recipe, base))
    rows += [
        _row(f"{pruning}-pruned", audit.recipe, pruned(base, pruning), baseline=base)
        for pruning in audit.prunings()
    ]
    trained = [row["manifest"] for row in rows if row["recipe"] != PRETRAINED]
    members = [member for manifest in trained for member in _members(run, manifest)]
    return ReportTable(
        inputs={
            "predictions": [
                f"predictions/{row['recipe']}/{row['manifest']}/{test_set}.json"
                for row in rows
                for test_set in audit.test_sets
            ],
            "manifest_rows": _manifest_files(run, members),
        },
        relations={
            "rows": [{"position": position, **row} for position, row in enumerate(rows)],
            "members": members,
            "testsets": _test_sets(run, audit),
        },
        parameters={},
    )


def _near_duplicates(run: Run, audit: Similarity) -> ReportTable:
    """Table 2: test images with a near duplicate in either train set."""
    return _of_neighbors(run, audit, near_duplicate_distance=audit.near_duplicate_distance)


def _of_neighbors(run: Run, audit: Similarity, **parameters: float) -> ReportTable:
    """Tables 2 and 7: what the nearest train samples of every test image say."""
    return ReportTable(
        inputs={"neighbors": _neighbor_files(audit)},
        relations={"testsets": _test_sets(run, audit)},
        parameters={**_corpora(run, audit), **parameters},
    )


def _near_gap(run: Run, audit: Similarity) -> ReportTable:
    """Table 6: train samples just outside the gap, in the pruned large set and in the small one."""
    members = [
        {"manifest": pruned(audit.large, name), "corpus": audit.large, "pruning": f"{name}-pruned"}
        for name in audit.test_sets
    ]
    return ReportTable(
        inputs={
            "neighbors": _neighbor_files(audit)[1:],
            "similarities": [
                f"similarities/{audit.encoder}/{corpus}/{part}.json"
                for corpus in (audit.large, audit.small)
                for part in run.parts(corpus)
            ],
            "manifest_rows": _manifest_files(run, members),
        },
        relations={
            "testsets": _test_sets(run, audit),
            "members": members,
            "pruned": [
                {"testset": name, "manifest": pruned(audit.large, name)} for name in audit.test_sets
            ],
        },
        parameters={**_corpora(run, audit), "near_gap": audit.near_gap},
    )


def _evidence(run: Run, audit: Similarity, evidence: Evidence) -> ReportTable:
    """The effect of pruning over several seeds, against a random set of the same size."""
    from scipy.special import stdtrit

    from clipaudit.reports.intervals import CONFIDENCE, DECIMALS

    base = audit.bases()[0]
    arms = [
        {"recipe": recipe, "manifest": manifest, "is_pruned": is_pruned}
        for recipe in evidence.recipes
        for is_pruned, manifest in (
            (True, pruned(base, evidence.pruning)),
            (False, randomly(base, evidence.pruning)),
        )
    ]
    quantile = float(stdtrit(len(evidence.recipes) - 1, (1 + CONFIDENCE) / 2))
    return ReportTable(
        inputs={
            "predictions": [
                f"predictions/{arm['recipe']}/{arm['manifest']}/{test_set}.json"
                for arm in arms
                for test_set in audit.test_sets
            ]
        },
        relations={"arms": arms, "testsets": _test_sets(run, audit)},
        parameters={"reference": evidence.reference, "t": round(quantile, DECIMALS)},
    )


def _row(
    dataset: str, recipe: str, manifest: str, baseline: str | None = None
) -> dict[str, object]:
    return {
        "dataset": dataset,
        "recipe": recipe,
        "manifest": manifest,
        "baseline": baseline,
        "indent": baseline is not None,
    }


def _members(run: Run, manifest: object) -> list[dict[str, object]]:
    """Return which pruning of which corpus a manifest is made of."""
    return [
        {"manifest": manifest, "corpus": corpus, "pruning": pruning}
        for corpus, pruning in run.manifests()[str(manifest)].items()
    ]


def _manifest_files(run: Run, members: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the parts of all member manifests, each once."""
    files = [
        f"manifests/{member['corpus']}/{member['pruning']}/{part}.json"
        for member in members
        for part in run.parts(str(member["corpus"]))
    ]
    return list(dict.fromkeys(files))


def _neighbor_files(audit: Similarity) -> list[str]:
    return [f"neighbors/{audit.encoder}/{corpus}.json" for corpus in (audit.large, audit.small)]


def _test_sets(run: Run, audit: Similarity) -> list[dict[str, object]]:
    return [
        {"position": position, "testset": name, "title": _title(run, name)}
        for position, name in enumerate(audit.test_sets)
    ]


def _corpora(run: Run, audit: Similarity) -> dict[str, object]:
    return {
        "large": audit.large,
        "small": audit.small,
        "large_title": _title(run, audit.large),
        "small_title": _title(run, audit.small),
    }


def _title(run: Run, corpus: str) -> str:
    return run.corpora[corpus].title or corpus


def _title_of_encoder(run: Run, encoder: str) -> str:
    return run.encoders[encoder].title or encoder
