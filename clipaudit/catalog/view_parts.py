"""Building blocks for the parts of the view `audit`, and the parts that belong to no audit.

A part is SQL that gives at most one row per sample. If this run lacks its views, it gives no rows,
with the same columns. Derived corpora, such as `scenes.drawn`, count as the corpus of their
samples.
"""

from collections.abc import Collection, Mapping

from clipaudit.catalog.sqltext import identifier, literal

Columns = Mapping[str, Collection[str]]  # the columns of each view of a catalog


def nothing(**columns: str) -> str:
    """Return a part without rows; `columns` gives the types of the columns after the address."""
    types = {"corpus": "varchar", "shard": "int", "row": "int", **columns}
    named = ", ".join(f"null::{kind} as {identifier(name)}" for name, kind in types.items())
    return f"    select {named} where false"


def first_of(columns: Collection[str], *names: str) -> str:
    """Return SQL for the first non-null value of the named columns that a view has."""
    present = [identifier(name) for name in names if name in columns]
    return f"coalesce({', '.join(present)})" if present else "null::varchar"


def corpus_of(columns: Collection[str]) -> str:
    """Return SQL for the corpus of a row of a view with these columns."""
    return f"split_part({first_of(columns, 'corpus', 'source')}, '.', 1)"


def chosen(value: str | int | None, view: str, column: str) -> str:
    """Return a value as SQL; for None, the smallest value in a column of a view."""
    if value is None:
        return f"(select min({column}) from {view})"
    return literal(value) if isinstance(value, str) else str(value)


def removed(columns: Columns) -> str:
    """Return the part with the manifests that keep a sample, and those that remove it and why."""
    if "manifests" not in columns:
        return nothing(kept_by="varchar[]", pruned_from="varchar[]", pruned_because="varchar[]")
    name = first_of(columns["manifests"], "curated", "set", "pruning")
    return f"""\
    select
        {corpus_of(columns["manifests"])} as corpus,
        shard,
        row,
        list({name} order by {name}) filter (kept) as kept_by,
        list({name} order by {name}) filter (not kept) as pruned_from,
        list(reason order by {name}) filter (not kept) as pruned_because,
    from manifests
    group by all"""


def repeated(columns: Columns) -> str:
    """Return the part with a sample's removal similarity and the sample that it duplicates."""
    if "duplicates" not in columns:
        return nothing(cluster="int", found="struct(away double, shard int, row int)")
    return f"""\
    select
        {corpus_of(columns["duplicates"])} as corpus,
        shard,
        row,
        min(cluster) as cluster,
        min({{
            'away': -similarity,
            'shard': duplicate_shard,
            'row': duplicate_row,
        }}) filter (similarity is not null) as found,
    from duplicates
    group by 1, 2, 3"""


def dropped(columns: Columns) -> str:
    """Return the part with stage and reason of every stage that could not use a sample."""
    rows = drop_rows(columns)
    if not rows:
        return nothing(reasons="varchar[]")
    return f"""\
    select
        corpus,
        shard,
        row,
        list(distinct stage || ': ' || reason order by stage || ': ' || reason) as reasons,
    from (
{rows}
    )
    group by all"""


def drop_rows(columns: Columns) -> str:
    """Return a query for the samples that any stage could not use; "" without such views."""
    views = sorted(view for view in columns if view.startswith("drops_"))
    return "\n        union all\n".join(
        f"        select {corpus_of(columns[view])} as corpus, shard, row, key, stage, "
        f"{first_of(columns[view], 'encoder')} as encoder, reason, detail from {identifier(view)}"
        for view in views
    )
