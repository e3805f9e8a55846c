"""The view `audit`: one row per sample, with what each of the three audits says of it.

It is SQL over the views of the stages; a stage that this run does not have gives null. Nothing is
computed before somebody asks.
"""

from clipaudit.catalog import audit_parts as parts
from clipaudit.catalog.audit_parts import Choices, Columns


def audit_view(columns: Columns, choices: Choices) -> str | None:
    """Return the statement that creates `audit` over views with these columns.

    None where there are no samples. A corpus that the memorization audit derives, such as
    `scenes.drawn`, counts as the corpus that its samples are of.
    """
    if not {"corpus", "shard", "row"} <= set(columns.get("samples", ())):
        return None
    steps = {
        "nearest": parts.nearest(columns, choices),
        "crossed": parts.crossed(columns, choices),
        "removed": parts.removed(columns),
        "repeated": parts.repeated(columns),
        "drawn_for": parts.drawn_for(columns),
        "excluded": parts.excluded(columns),
        "recalled": parts.recalled(columns, choices),
        "spotted": parts.spotted(columns),
        "scored": parts.scored(columns, choices),
        "grouped": parts.grouped(columns, choices),
        "dropped": parts.dropped(columns),
    }
    named = ",\n\n".join(f"{name} as (\n{sql}\n)" for name, sql in steps.items())
    joins = "\n".join(f"left join {name} using (corpus, shard, row)" for name in steps)
    return f"create view audit as\nwith {named}\n\n{_SELECT}\n{joins}\nwhere corpus is not null"


_SELECT = """\
select
    samples.corpus,
    samples.shard,
    samples.row,
    samples.uid,
    samples.key,
    samples.caption,
    samples.label,
    samples.width,
    samples.height,
    nearest.found.testset as nearest_testset,
    -nearest.found.away as nearest_similarity,
    nearest.found.test_shard as nearest_test_shard,
    nearest.found.test_row as nearest_test_row,
    crossed.found.testset as gap_testset,
    crossed.found.similarity as gap_similarity,
    crossed.found.gap,
    -crossed.found.away as gap_excess,
    crossed.found.test_shard as gap_test_shard,
    crossed.found.test_row as gap_test_row,
    removed.kept_by,
    removed.pruned_from,
    removed.pruned_because,
    repeated.cluster as duplicate_cluster,
    -repeated.found.away as duplicate_similarity,
    repeated.found.shard as duplicate_shard,
    repeated.found.row as duplicate_row,
    drawn_for.set as memorization_set,
    excluded.reasons as memorization_excluded,
    recalled.truths as recall_objects,
    case drawn_for.set when 'a' then recalled.a when 'b' then recalled.b end
        / nullif(recalled.truths, 0) as recall_target,
    case drawn_for.set when 'a' then recalled.b when 'b' then recalled.a end
        / nullif(recalled.truths, 0) as recall_reference,
    case drawn_for.set
        when 'a' then recalled.a - recalled.b
        when 'b' then recalled.b - recalled.a
    end / nullif(recalled.truths, 0) as recall_gap,
    spotted.spans as text_spans,
    spotted.words_caption as caption_words,
    spotted.words_co as co_words,
    spotted.words_rate as cotr,
    spotted.words_fuzzy_rate as cotr_fuzzy,
    spotted.plain_rate as cotr_plain,
    spotted.plain_fuzzy_rate as cotr_plain_fuzzy,
    scored.raw as score,
    scored.raw::double - scored.all::double as rsa,
    scored.raw::double - scored.co::double as rsc,
    grouped.cluster,
    grouped.group as cluster_group,
    dropped.reasons as drops,
from samples"""
