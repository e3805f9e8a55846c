"""The view `audit`: one row per sample, with what each audit says of it.

It is SQL over the views of the stages; a stage that this run does not have gives null. Nothing is
computed before somebody asks.
"""

from clipaudit.catalog.parts import audit_parts
from clipaudit.catalog.view_parts import Columns, dropped, removed, repeated
from clipaudit.config.settings import Settings


def audit_view(columns: Columns, run: Settings | None) -> str | None:
    """Return the statement that creates `audit` over views with these columns.

    None where there are no samples. A derived corpus, such as `scenes.drawn`, counts as the corpus
    that its samples are of. Of several encoders, models and settings the view shows the numbers of
    those that the settings name first; without settings, of the first in the order of names.
    """
    if not {"corpus", "shard", "row"} <= set(columns.get("samples", ())):
        return None
    steps = {"removed": removed(columns), "repeated": repeated(columns)}
    shown = [_SAMPLE, _MANIFESTS]
    for part in audit_parts():
        steps |= part.queries(columns, run)
        shown.append(part.columns)
    steps["dropped"] = dropped(columns)
    named = ",\n\n".join(f"{name} as (\n{sql}\n)" for name, sql in steps.items())
    joins = "\n".join(f"left join {name} using (corpus, shard, row)" for name in steps)
    select = "\n".join(["select", *shown, "    dropped.reasons as drops,", "from samples"])
    return f"create view audit as\nwith {named}\n\n{select}\n{joins}\nwhere corpus is not null"


_SAMPLE = """\
    samples.corpus,
    samples.shard,
    samples.row,
    samples.uid,
    samples.key,
    samples.caption,
    samples.label,
    samples.width,
    samples.height,"""

_MANIFESTS = """\
    removed.kept_by,
    removed.pruned_from,
    removed.pruned_because,
    repeated.cluster as duplicate_cluster,
    -repeated.found.away as duplicate_similarity,
    repeated.found.shard as duplicate_shard,
    repeated.found.row as duplicate_row,"""
