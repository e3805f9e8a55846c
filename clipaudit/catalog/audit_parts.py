"""The parts of the view `audit`: from each audit's views at most one row per sample, as SQL.

A part whose views this run does not have gives no rows, of the same columns. Corpora that the
memorization audit derives, such as `scenes.drawn`, count as the corpus that their samples are of.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from clipaudit.catalog.sqltext import identifier, literal

Columns = Mapping[str, Collection[str]]  # the columns of each view of a catalog


@dataclass(frozen=True)
class Choices:
    """Of several encoders, models and settings, those whose numbers the view shows.

    What is None is the first in the order of names (of k: the lowest).
    """

    similarity_encoder: str | None = None
    memorization_encoder: str | None = None
    recipe: str | None = None  # of the models that recall
    public: str | None = None  # the public set in which they look
    neighbors: int | None = None  # k: how many public images they look at
    parrot_encoder: str | None = None  # whose caption scores and clusters


def _nothing(**columns: str) -> str:
    """Return a part without rows; `columns` are the types of those besides the address."""
    types = {"corpus": "varchar", "shard": "int", "row": "int", **columns}
    named = ", ".join(f"null::{kind} as {identifier(name)}" for name, kind in types.items())
    return f"    select {named} where false"


def _first(columns: Collection[str], *names: str) -> str:
    """Return the first of some label columns that is not null, of those that a view has."""
    present = [identifier(name) for name in names if name in columns]
    return f"coalesce({', '.join(present)})" if present else "null::varchar"


def _corpus(columns: Collection[str]) -> str:
    return f"split_part({_first(columns, 'corpus', 'source')}, '.', 1)"


def _chosen(value: str | int | None, view: str, column: str) -> str:
    if value is None:
        return f"(select min({column}) from {view})"
    return literal(value) if isinstance(value, str) else str(value)


def _of_encoders(choices: Choices) -> str:
    own = _chosen(choices.similarity_encoder, "similarities", "encoder")
    drawn = _chosen(choices.memorization_encoder, "similarities", "encoder")
    return f"encoder = if(contains(corpus, '.'), {drawn}, {own})"


def nearest(columns: Columns, choices: Choices) -> str:
    """Return the nearest test sample of any set; what a corpus was asked goes before its draw."""
    if "encoder" not in columns.get("similarities", ()):
        found = "struct(testset varchar, away double, test_shard int, test_row int)"
        return _nothing(found=found)
    return f"""\
    select
        {_corpus(columns["similarities"])} as corpus,
        shard,
        row,
        min({{
            'drawn': contains(corpus, '.'),
            'away': -similarity,
            'testset': testset,
            'test_shard': test_shard,
            'test_row': test_row,
        }}) as found,
    from similarities
    where {_of_encoders(choices)}
    group by all"""


def crossed(columns: Columns, choices: Choices) -> str:
    """Return the gap that is crossed by most, of any set."""
    if "encoder" not in columns.get("similarities", ()):
        return _nothing(
            found="struct(testset varchar, similarity double, gap double, away double, "
            "test_shard int, test_row int)"
        )
    return f"""\
    select
        {_corpus(columns["similarities"])} as corpus,
        shard,
        row,
        min({{
            'away': gap - gap_similarity,
            'testset': testset,
            'test_shard': gap_test_shard,
            'test_row': gap_test_row,
            'similarity': gap_similarity,
            'gap': gap,
        }}) as found,
    from similarities
    where gap is not null and {_of_encoders(choices)}
    group by all"""


def removed(columns: Columns) -> str:
    """Return which manifests keep a sample, and which do not and why, by name."""
    if "manifests" not in columns:
        return _nothing(kept_by="varchar[]", pruned_from="varchar[]", pruned_because="varchar[]")
    name = _first(columns["manifests"], "curated", "set", "pruning")
    return f"""\
    select
        {_corpus(columns["manifests"])} as corpus,
        shard,
        row,
        list({name} order by {name}) filter (kept) as kept_by,
        list({name} order by {name}) filter (not kept) as pruned_from,
        list(reason order by {name}) filter (not kept) as pruned_because,
    from manifests
    group by all"""


def repeated(columns: Columns) -> str:
    """Return the removal similarity of a sample, and what it repeats."""
    if "duplicates" not in columns:
        return _nothing(cluster="int", found="struct(away double, shard int, row int)")
    return f"""\
    select
        {_corpus(columns["duplicates"])} as corpus,
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


def drawn_for(columns: Columns) -> str:
    """Return the set of the memorization audit that a sample is in."""
    if "members" not in columns:
        return _nothing(set="varchar")
    return f"""\
    select {_corpus(columns["members"])} as corpus, shard, row, min("set") as "set"
    from members
    group by all"""


def excluded(columns: Columns) -> str:
    """Return why a sample left the set that it was drawn for."""
    if "drops_overlaps" not in columns:
        return _nothing(reasons="varchar[]")
    return f"""\
    select
        {_corpus(columns["drops_overlaps"])} as corpus,
        shard,
        row,
        list(distinct reason order by reason) as reasons,
    from drops_overlaps
    group by all"""


def recalled(columns: Columns, choices: Choices) -> str:
    """Return how many objects the models of A and of B recall, with the default training."""
    if not {"encoder", "public"} <= set(columns.get("recalls", ())):
        return _nothing(truths="int", a="int", b="int")
    recipe = literal(choices.recipe or "")
    if choices.recipe is None:
        name = "regexp_extract(encoder, '^(.*)[.]set-a$', 1)"
        recipe = f"(select min({name}) from recalls where ends_with(encoder, '.set-a'))"
    return f"""\
    select
        {_corpus(columns["recalls"])} as corpus,
        shard,
        row,
        max(truths) as truths,
        max(correct) filter (encoder = {recipe} || '.set-a') as a,
        max(correct) filter (encoder = {recipe} || '.set-b') as b,
    from recalls
    where
        public = {_chosen(choices.public, "recalls", "public")}
        and k = {_chosen(choices.neighbors, "recalls", "k")}
    group by all"""


def spotted(columns: Columns) -> str:
    """Return how much text a picture shows, and how much of its caption."""
    if "matches" not in columns:
        return _nothing(
            spans="int",
            words_caption="int",
            words_co="varchar[]",
            words_rate="double",
            words_fuzzy_rate="double",
            plain_rate="double",
            plain_fuzzy_rate="double",
        )
    return """\
    select
        corpus,
        shard,
        row,
        spans,
        words_caption,
        words_co,
        words_rate,
        words_fuzzy_rate,
        plain_rate,
        plain_fuzzy_rate,
    from matches"""


def scored(columns: Columns, choices: Choices) -> str:
    """Return the caption's scores."""
    if "encoder" not in columns.get("caption_scores", ()):
        return _nothing(raw="float", all="float", co="float")
    encoder = _chosen(choices.parrot_encoder, "caption_scores", "encoder")
    return f"""\
    select corpus, shard, row, raw, "all", co
    from caption_scores
    where encoder = {encoder}"""


def grouped(columns: Columns, choices: Choices) -> str:
    """Return the picture's cluster."""
    if "encoder" not in columns.get("placed", ()):
        return _nothing(cluster="int", group="int")
    encoder = _chosen(choices.parrot_encoder, "placed", "encoder")
    return f"""\
    select corpus, shard, row, cluster, "group"
    from placed
    where encoder = {encoder}"""


def dropped(columns: Columns) -> str:
    """Return stage and reason of every stage that could not use a sample."""
    views = sorted(view for view in columns if view.startswith("drops_"))
    if not views:
        return _nothing(reasons="varchar[]")
    rows = "\n        union all\n".join(
        f"        select {_corpus(columns[view])} as corpus, shard, row, stage, reason "
        f"from {identifier(view)}"
        for view in views
    )
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
