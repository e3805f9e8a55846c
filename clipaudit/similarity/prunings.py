"""Names the similarity audit's pruned sets, and says how each is made.

A pruning of a corpus has the name `base.what`: the base that it starts from, such as `all` or
`deduplicated`, and what is removed. A manifest of the run is one such pruning, with or without
the small set.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from clipaudit.config.manifests import ALL, DEDUPLICATED, Size, size_label
from clipaudit.similarity.settings import Similarity, kept_label, margin_label

Order = Literal["near", "far", "rand", "semdedup"]

_BY_SIMILARITY: tuple[Order, ...] = ("near", "far")
COMBINED = "combined"  # pruned to the gaps of all test sets
CORE = "core"


@dataclass(frozen=True)
class Cut:
    """Where an order of samples is cut: by how many are `removed`, or `kept`, or in `like`.

    `removed` and `kept` are counts or fractions, `kept` of what the pruning `like` keeps, if one is
    named.
    """

    order: Order
    test_sets: tuple[str, ...] = ()  # that near and far look at
    removed: Size | None = None
    kept: Size | None = None
    like: str | None = None
    seed: int = 0


@dataclass(frozen=True)
class Prunings:
    """The prunings of one corpus: the cuts by name, and the test sets of each gap pruning.

    `shifted` are to the gaps of one test set with a margin added.
    """

    gaps: dict[str, tuple[str, ...]] = field(default_factory=dict)
    shifted: dict[str, tuple[str, float]] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)


def base(audit: Similarity) -> str:
    """Return the base of the large corpus that prunings start from."""
    return audit.base or (DEDUPLICATED if audit.deduplication else ALL)


def large_prunings(audit: Similarity) -> Prunings:
    """Return all prunings of the large corpus."""
    start, every = base(audit), tuple(audit.test_sets)
    gaps: dict[str, tuple[str, ...]] = {}
    if audit.small is not None:  # which sets the gaps
        gaps = {f"{start}.{name}-pruned": (name,) for name in every}
        gaps[f"{start}.{COMBINED}-pruned"] = every
    cuts: dict[str, Cut] = {}
    near_far = audit.near_far
    if near_far is not None:
        cuts |= _orders(start, near_far.queries, near_far.all_removed, near_far.seed)
        cuts |= _orders(start, near_far.queries, near_far.kept or [], near_far.seed, are_kept=True)
    core = audit.core_set
    if core is not None:
        for name, test_sets in core_queries(audit).items():
            cuts[f"{start}.{name}-far-{CORE}"] = Cut("far", test_sets, kept=core.kept, like=start)
        if core.of_whole and start != ALL:
            cuts[f"{ALL}.all-far-{CORE}"] = Cut("far", every, kept=core.kept, like=start)
        if core.semdedup:
            cuts[f"{ALL}.semdedup-{CORE}"] = Cut("semdedup", kept=core.kept, like=start)
    evidence = audit.evidence
    draws = range(1, audit.seeds + 1)
    if evidence is not None and evidence.removed is not None:
        cuts |= _orders(start, [evidence.pruning], [evidence.removed], evidence.seed)
        for draw in draws:
            name = f"{start}.{rand(size_label(evidence.removed), draw)}"
            cuts[name] = Cut("rand", removed=evidence.removed, seed=evidence.seed + draw - 1)
    shifted, dose = {}, audit.dose_response
    if dose is not None:
        shifted = {
            f"{start}.{shifted_pruning(dose.test_set, margin)}": (dose.test_set, margin)
            for margin in dose.margins
        }
    of_dose = [f"{start}.{dose.test_set}-pruned", *shifted] if dose is not None else []
    of_evidence = [f"{start}.{evidence.pruning}-pruned"] if evidence is not None else []
    each_seed = list(gaps) if audit.has_random_arm else of_evidence
    for like, draw in [*product(of_dose, [1]), *product(each_seed, draws)]:
        cuts[random_like(like, draw)] = Cut("rand", like=like, seed=audit.random_seed + draw - 1)
    return Prunings(gaps, shifted, cuts)


def shifted_pruning(test_set: str, margin: float) -> str:
    """Return the name of the pruning to a test set's gaps with a margin added; 0 adds none.

    >>> shifted_pruning("sketch", -0.02), shifted_pruning("sketch", 0)
    ('sketch-minus-0-02-pruned', 'sketch-pruned')
    """
    return f"{test_set}-{margin_label(margin)}-pruned" if margin else f"{test_set}-pruned"


def random_like(gap_pruned: str, draw: int = 1) -> str:
    """Return the name of a random pruning, or manifest, as large as a gap-pruned one.

    >>> random_like("large-and-small.sketch-pruned")
    'large-and-small.random-as-sketch'
    >>> random_like("large-and-small.sketch-pruned", draw=2)
    'large-and-small.random-draw-2-as-sketch'
    """
    start, _, what = gap_pruned.partition(".")
    return f"{start}.{_drawn('random', draw)}-as-{what.removesuffix('-pruned')}"


def rand(label: str, draw: int = 1) -> str:
    """Return what a rand-pruning of a size removes, as in its name: `rand-50pct`."""
    return f"{_drawn('rand', draw)}-{label}"


def _drawn(name: str, draw: int) -> str:
    return name if draw == 1 else f"{name}-draw-{draw}"


def small_prunings(audit: Similarity) -> Prunings:
    """Return all prunings of the small corpus: those that supervised models are trained on."""
    if audit.supervised is None or audit.near_far is None:
        return Prunings()
    near_far = audit.near_far
    return Prunings(cuts=_orders(ALL, near_far.queries, audit.supervised.removed, near_far.seed))


def untargeted_of_small(audit: Similarity) -> list[str]:
    """Return the small set's manifests that do not depend on a test set: whole, rand-pruned."""
    if audit.small is None:
        return []
    cuts = small_prunings(audit).cuts.items()
    whats = [name.partition(".")[2] for name, cut in cuts if not cut.test_sets]
    return [audit.small, *(pruned(audit.small, what) for what in whats)]


def prunings(audit: Similarity, corpus: str) -> Prunings:
    """Return all prunings of a corpus; none if it is neither large nor small."""
    if corpus == audit.large:
        return large_prunings(audit)
    return small_prunings(audit) if corpus == audit.small else Prunings()


def core_queries(audit: Similarity) -> dict[str, tuple[str, ...]]:
    """Return the far-pruned core sets of Table 3: their names and the test sets they look at."""
    single = audit.near_far.queries if audit.near_far else []
    return {"all": tuple(audit.test_sets), **{name: (name,) for name in single}}


def _orders(
    start: str, queries: list[str], sizes: list[Size], seed: int, *, are_kept: bool = False
) -> dict[str, Cut]:
    """Return near- and far-pruning to each query and rand-pruning, at each size."""
    cuts = {}
    for size in sizes:
        removed, kept = (None, size) if are_kept else (size, None)
        label = kept_label(size) if are_kept else size_label(size)
        cuts[f"{start}.{rand(label)}"] = Cut("rand", removed=removed, kept=kept, seed=seed)
        for query in queries:
            for order in _BY_SIMILARITY:
                cut = Cut(order, (query,), removed=removed, kept=kept)
                cuts[f"{start}.{query}-{order}-{label}"] = cut
    return cuts


# --- manifests of the run ------------------------------------------------------------------------


def web(audit: Similarity) -> str:
    """Return the manifest that the audit prunes: the large corpus, or its base.

    (LAION-200M in the paper, which is deduplicated.)
    """
    return audit.large if base(audit) == ALL else f"{audit.large}-{base(audit)}"


def with_small(audit: Similarity) -> str:
    """Return the manifest of the pruned-from set with the small corpus added."""
    return f"{web(audit)}-and-{audit.small}"


def bases(audit: Similarity) -> list[str]:
    """Return the unpruned manifests of Tables 1 and 4, the one with the small set first."""
    if audit.small is None:
        return [web(audit)]
    names = {True: with_small(audit), False: web(audit)}
    return [names[added] for added in (True, False) if added in audit.with_small]


def pruned(manifest: str, what: str) -> str:
    """Return the name of a pruned manifest.

    >>> pruned("large-deduplicated", "sketch-near-25pct")
    'large-deduplicated.sketch-near-25pct'
    """
    return f"{manifest}.{what}"


def similarity_manifests(audit: Similarity) -> dict[str, dict[str, str]]:
    """Return the audit's manifests: the corpora of each, and how each is pruned."""
    large, small = audit.large, audit.small
    found = {web(audit): {large: base(audit)}}
    prunings = large_prunings(audit)
    # gap-pruned sets have random controls, also with the small set
    likes = [name for name, cut in prunings.cuts.items() if cut.order == "rand" and cut.like]
    for name in bases(audit):
        added = {small: ALL} if small is not None and name == with_small(audit) else {}
        found[name] = {large: base(audit), **added}
        for pruning in [*prunings.gaps, *prunings.shifted, *likes]:
            found[pruned(name, pruning.partition(".")[2])] = {large: pruning, **added}
    for pruning in [*prunings.gaps, *prunings.shifted, *prunings.cuts]:
        start, _, what = pruning.partition(".")
        of = large if start == ALL else web(audit)
        found[pruned(of, what)] = {large: pruning}
    if small is not None:
        for pruning in small_prunings(audit).cuts:
            found[pruned(small, pruning.partition(".")[2])] = {small: pruning}
    return found


def dose_manifests(audit: Similarity) -> dict[float, str]:
    """Return the pruned manifests of the dose response, by margin, the fewest removed first.

    They include the small set if Table 1 is requested. `random_like` names their random controls.
    """
    dose = audit.dose_response
    if dose is None:
        return {}
    margins = sorted([*dose.margins, 0.0], reverse=True)
    unpruned = bases(audit)[0]
    return {each: pruned(unpruned, shifted_pruning(dose.test_set, each)) for each in margins}


# --- searches among kept samples -----------------------------------------------------------------


@dataclass(frozen=True)
class KeptSearch:
    """A search for neighbours among the samples that a pruning keeps, for some test sets."""

    corpora: dict[str, str]  # corpus: pruning
    test_sets: tuple[str, ...]


def kept_searches(audit: Similarity) -> dict[str, KeptSearch]:
    """Return the searches among kept samples, by name.

    They cover the base (Table 7), each gap-pruned set (to check the pruning, and for the galleries
    after pruning), and each pair of sets, whole (App. D).
    """
    start, large = base(audit), audit.large
    found = {}
    if start != ALL:
        found[start] = KeptSearch({large: start}, tuple(audit.test_sets))
    for pruning, test_sets in large_prunings(audit).gaps.items():
        found[pruning.partition(".")[2]] = KeptSearch({large: pruning}, test_sets)
    for name, pair in audit.pairs.items():
        found[f"pair-{name}"] = KeptSearch({large: ALL, pair.small: ALL}, (pair.test,))
    return found
