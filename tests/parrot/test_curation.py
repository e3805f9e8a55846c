import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clipaudit.corpora.manifests import MANIFEST, keep_all, prune_manifest
from clipaudit.corpora.places import places
from clipaudit.errors import ConfigError, InputError, TooSmall
from clipaudit.parrot import criteria
from clipaudit.parrot import curation as module
from clipaudit.parrot.criteria import CuratedPart, Curation
from clipaudit.parrot.curation import CUT, Candidates, curate, passing
from clipaudit.parrot.filters import phrases_of

KINDS = [
    Curation("random", "random"),
    Curation("none", "without-text"),
    Curation("text", "with-text"),
    Curation("cotr=0", "cotr", exactly=0),
    Curation("cotr>=0.3", "cotr", at_least=0.3),
    Curation("plain=1", "cotr", exactly=1, tokenization="plain"),
    Curation("rsa<0", "rsa", below=0),
    Curation("rsa>=0.1", "rsa", at_least=0.125),
    Curation("rsc<0", "rsc", below=0),
    Curation("rsc>=0.25", "rsc", at_least=0.25),
    Curation("fix", "debiased", above=0.25, aesthetics_above=4.5),
    Curation("rsa>=0, textless", "rsa", at_least=0, textless=True),
    Curation("rsa>=0.1, textless", "rsa", at_least=0.125, textless=True),
    Curation("score", "top-score"),
    Curation("masked", "top-masked"),
    Curation("stated", "top-stated"),
    Curation("basic", "basic"),
    Curation("names", "text"),
]
HELD_OUT = [
    Curation("heldout-without-text", "without-text", seed=3, size=1),
    Curation("heldout-parrot", "rsc", above=0.125, seed=3, size=1),
]

rate = st.sampled_from([None, 0.0, 0.25, 0.3, 1.0])
eighth = st.sampled_from([-0.125, 0.0, 0.125, 0.25, 0.375])
nullable = st.none() | eighth
facts = st.fixed_dictionaries(
    {
        "kept": st.sampled_from([True, True, True, False]),
        "spans": st.sampled_from([None, 0, 0, 2]),
        "words_rate": rate,
        "plain_rate": rate,
        "raw": nullable,
        "all": nullable,
        "co": nullable,
        "aesthetics": st.sampled_from([None, 4.5, 5.0]),
        "duplicate": st.booleans(),
        "caption": st.sampled_from([None, "", "a b", "a b c", "a red cat"]),
        "height": st.sampled_from([199, 200, 600]),
        "width": st.sampled_from([200, 601]),
        "original": st.sampled_from([None, (199, 300), (300, 400), (300, 901)]),
    }
)
address = st.tuples(st.sampled_from([0, 1, 2**20]), st.integers(0, 2**31 - 1))
corpora = st.dictionaries(address, facts, max_size=15)


def column(rows, name, kind):
    found = [{"shard": s, "row": r, name: fact[name]} for (s, r), fact in rows]
    return pa.Table.from_pylist(
        found, pa.schema([("shard", pa.int32()), ("row", pa.int32()), (name, kind)])
    )


def part_of(corpus):
    """The tables of {(shard, row): facts}, each in an order of its own."""
    rows = list(corpus.items())
    base = keep_all(column(rows, "spans", pa.int32()))
    gone = column([each for each in rows if not each[1]["kept"]], "kept", pa.bool_())
    gone = gone.append_column("reason", pa.repeat("copy", len(gone)))
    spotted = [each for each in sorted(rows) if each[1]["spans"] is not None]
    matches = column(spotted, "spans", pa.int32())
    for name in ("words_rate", "plain_rate"):
        matches = matches.append_column(name, column(spotted, name, pa.float64())[name])
    scored = [each for each in rows[::-1] if each[1]["raw"] is not None]
    scores = column(scored, "raw", pa.float32())
    for name in ("all", "co"):
        scores = scores.append_column(name, column(scored, name, pa.float32())[name])
    repeats = column([each for each in rows if each[1]["duplicate"]], "duplicate", pa.bool_())
    aesthetics = column(rows, "aesthetics", pa.float64())
    samples = column(rows, "caption", pa.string())
    for name in ("height", "width"):
        samples = samples.append_column(name, column(rows, name, pa.int32())[name])
    stated = [stated_size(fact.get("original")) for _, fact in rows]
    samples = samples.append_column("metadata", pa.array(stated, pa.string()))
    return CuratedPart(
        prune_manifest(base, gone, embedded=base),
        matches,
        scores,
        aesthetics,
        repeats,
        samples,
        phrases_of(["red cat"]),
    )


def stated_size(size):
    return size and json.dumps(dict(zip(("original_height", "original_width"), size, strict=True)))


def split(corpus, size):
    rows = sorted(corpus.items())
    return [part_of(dict(rows[start : start + size])) for start in range(0, len(rows), size)]


def meets(curation, fact):
    """Whether a sample meets the criterion, as the paper words it."""
    spans, raw, kind = fact["spans"], fact["raw"], curation.kind
    if spans is None:
        return False
    if kind in ("random", "without-text", "with-text"):
        return {"random": True, "without-text": spans == 0, "with-text": spans > 0}[kind]
    if kind == "debiased":
        beautiful = fact["aesthetics"] is not None and fact["aesthetics"] > 4.5
        score_is_high = raw is not None and raw > curation.above
        return spans == 0 and score_is_high and beautiful and not fact["duplicate"]
    if kind == "basic":
        sides = sorted(fact["original"] or (fact["height"], fact["width"]))
        return fact["caption"] == "a red cat" and sides[0] >= 200 and sides[1] <= 3 * sides[0]
    if kind == "text":
        return fact["caption"] == "a red cat"
    if kind.startswith("top-"):
        is_scored = kind == "top-stated" or raw is not None
        return is_scored and top_score(curation, fact) is not None
    if kind == "cotr":
        value = fact[f"{curation.tokenization}_rate"]
    else:
        erased = fact[{"rsa": "all", "rsc": "co"}[kind]]
        value = None if raw is None or erased is None else raw - erased
    if curation.textless and spans == 0 and raw is not None:
        value = 0.0
    elif spans == 0 or value is None:
        return False
    signs = {"at_least": "__ge__", "below": "__lt__", "above": "__gt__", "exactly": "__eq__"}
    return all(getattr(value, signs[name])(float(bound)) for name, bound in curation.bounds())


def top_score(curation, fact):
    """The score that a filter looks at; an image without text has nothing to mask."""
    if curation.kind == "top-stated":
        return fact["aesthetics"]
    masked = curation.kind == "top-masked" and fact["spans"] > 0
    return fact["all"] if masked else fact["raw"]


def eligible(curation, corpus, without=()):
    """The addresses that may be taken, in the random order, by the definition."""

    def place(at):
        drawn = int(places(*(np.array([n], np.int32) for n in at), seed=curation.seed)[0])
        if curation.kind.startswith("top-"):
            return -top_score(curation, corpus[at]), drawn
        return 0, drawn

    may = {at for at, fact in corpus.items() if fact["kept"] and meets(curation, fact)}
    return sorted(may - set(without), key=place)


def sized(curation, size):
    return Curation(**vars(curation) | {"size": size})


def cut_of(curation, parts, held_out=()):
    candidates = Candidates(curation, held_out)
    for part in parts:
        candidates.add(part)
    return candidates.cut()


def curated(curation, parts, held_out=()):
    cut = cut_of(curation, parts, held_out)
    manifests = [curate(curation, part, cut, held_out) for part in parts]
    return pa.concat_tables([MANIFEST.empty_table(), *manifests])


def kept(manifest):
    rows = manifest.filter(manifest["kept"])
    return set(zip(rows["shard"].to_pylist(), rows["row"].to_pylist(), strict=True))


def fact(**known):
    usual = {"kept": True, "spans": 1, "words_rate": 0.5, "plain_rate": 0.5, "raw": 0.5}
    usual |= {"caption": "a red cat", "height": 200, "width": 200}
    return usual | {"all": 0.25, "co": 0.25, "aesthetics": 5.0, "duplicate": False} | known


@pytest.mark.parametrize("curation", KINDS, ids=lambda curation: curation.name)
@settings(max_examples=20)
@given(corpora, st.data())
def test_curation_equals_its_definition_for_any_split_into_parts(curation, corpus, data):
    parts = split(corpus, data.draw(st.integers(1, 16)))
    outside, held_out = set(), []
    for each in HELD_OUT:
        found = eligible(each, corpus)
        held_out.append((sized(each, data.draw(st.integers(0, min(3, len(found))))), None))
        outside |= set(found[: held_out[-1][0].size])
    held_out = [(each, cut_of(each, parts)) for each, _ in held_out]
    wanted = eligible(curation, corpus, outside)
    size = data.draw(st.integers(0, len(wanted)))

    manifest = curated(sized(curation, size), parts, held_out)

    assert kept(manifest) == set(wanted[:size])
    assert not kept(manifest) & outside


@pytest.mark.parametrize(
    ("kind", "taken"),
    [
        ("top-score", {(0, 0), (0, 1)}),
        ("top-masked", {(0, 1), (0, 2)}),
        ("top-stated", {(0, 2), (0, 3)}),
    ],
)
def test_a_filter_selects_the_samples_with_the_highest_score(kind, taken):
    part = part_of(
        {
            (0, 0): fact(raw=0.5, all=0.125),  # it scores by its text
            (0, 1): fact(raw=0.375, spans=0, all=None),
            (0, 2): fact(raw=0.25, all=0.25, aesthetics=6.0),
            (0, 3): fact(raw=None, aesthetics=7.0),
            (0, 4): fact(raw=0.75, kept=False),
        }
    )

    assert kept(curated(Curation("x", kind, size=2), [part])) == taken


def test_a_filter_selects_equal_scores_in_the_random_order_up_to_its_size():
    part = part_of({(0, row): fact(raw=0.5) for row in range(50)})

    found = [kept(curated(Curation("x", "top-score", size=10, seed=s), [part])) for s in (0, 1)]

    assert [len(each) for each in found] == [10, 10]
    assert found[0] != found[1]


def test_equal_scores_whose_places_are_close_do_not_exceed_the_size():
    rows = np.array([21412, 140572], np.int32)
    upper_halves = places(np.zeros_like(rows), rows, seed=0) >> np.uint64(32)
    part = part_of({(0, row): fact(aesthetics=5.0) for row in rows.tolist()})

    found = kept(curated(Curation("x", "top-stated", size=1), [part]))

    assert upper_halves[0] == upper_halves[1]
    assert len(found) == 1


@settings(max_examples=30)
@given(corpora, st.integers(1, 16), st.sampled_from(KINDS))
def test_each_row_of_the_base_is_kept_or_has_a_reason(corpus, rows, curation):
    parts = split(corpus, rows)

    manifest = curated(sized(curation, 0), parts)

    bases = pa.concat_tables([MANIFEST.empty_table(), *(part.base for part in parts)])
    reasons = manifest["reason"].to_pylist()
    gone = [not stays for stays in bases["kept"].to_pylist()]
    assert manifest.schema == MANIFEST
    assert manifest.select(["shard", "row"]).equals(bases.select(["shard", "row"]))
    assert not manifest["kept"].to_pylist().count(True)
    assert None not in reasons
    assert [reason == "copy" for reason in reasons] == gone


@settings(max_examples=30)
@given(corpora, st.integers(0, 15), st.sampled_from(KINDS))
def test_new_samples_displace_others_only_by_lower_places(corpus, old, curation):
    before = dict(sorted(corpus.items())[:old])
    curation = sized(curation, len(eligible(curation, before)) // 2)

    small = kept(curated(curation, [part_of(before)]))
    large = kept(curated(curation, [part_of(corpus)]))

    assert large & set(before) <= small
    assert len(large) == len(small)


@pytest.mark.parametrize("spare", [0, 3, 1000])
def test_pruning_candidates_early_does_not_change_the_result(monkeypatch, spare):
    corpus = {(0, row): fact() for row in range(100)}
    curation = Curation("random", "random", size=20)
    monkeypatch.setattr(module, "SPARE_PLACES", spare)

    found = kept(curated(curation, split(corpus, 7)))

    assert found == set(eligible(curation, corpus)[:20])


def test_without_a_size_all_samples_are_selected(monkeypatch):
    monkeypatch.setattr(module, "SPARE_PLACES", 4)
    corpus = {(0, row): fact(spans=row % 2) for row in range(40)}
    parts = split(corpus, 3)

    cut = cut_of(KINDS[1], parts)

    assert cut.schema == CUT
    assert (cut["asked"][0].as_py(), cut["available"][0].as_py()) == (None, 20)
    assert kept(curated(KINDS[1], parts)) == {(0, row) for row in range(0, 40, 2)}


def test_smaller_sets_are_part_of_larger_ones():
    parts = split({(0, row): fact() for row in range(50)}, 8)

    small, large = (kept(curated(sized(KINDS[0], size), parts)) for size in (10, 30))

    assert small < large
    assert (len(small), len(large)) == (10, 30)


@pytest.mark.parametrize(
    ("curation", "known", "reason"),
    [
        (KINDS[0], {"spans": None}, "not spotted"),
        (KINDS[0], {"spans": 0}, "held out"),
        (KINDS[2], {"co": 0.0}, "held out"),
        (KINDS[1], {}, "has text"),
        (KINDS[4], {"words_rate": None}, "no caption"),
        (KINDS[4], {"words_rate": 0.25}, "CoTR below 0.3"),
        (KINDS[3], {}, "CoTR not 0"),
        (KINDS[7], {"raw": None}, "not scored"),
        (KINDS[7], {"all": 0.5}, "RSA below 0.125"),
        (KINDS[6], {}, "RSA not below 0"),
        (KINDS[8], {"co": None}, "no co-embedded text"),
        (Curation("x", "rsc", above=0.25), {}, "RSC not above 0.25"),
        (KINDS[10], {}, "has text"),
        (KINDS[2], {}, "not drawn"),
        (KINDS[2], {"kept": False}, "copy"),
    ],
)
def test_a_removed_sample_has_a_reason(curation, known, reason):
    part = part_of({(0, 4): fact(**known)})
    last = 2**64 - 1
    cuts = [
        pa.Table.from_pylist([dict(zip(CUT.names, (name, "", 1, 1, end, None), strict=True))], CUT)
        for name, end in [(curation.name, None), ("without", last), ("parrot", last)]
    ]
    without = Curation("without", "without-text")
    parrot = Curation("parrot", "rsc", above=0.375)

    manifest = curate(curation, part, cuts[0], [(without, cuts[1]), (parrot, cuts[2])])

    assert manifest["reason"].to_pylist() == [reason]


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({"raw": None}, "not scored"),
        ({"raw": 0.25}, "score not above 0.25"),
        ({"aesthetics": None}, "no aesthetics score"),
        ({"aesthetics": 4.5}, "aesthetics not above 4.5"),
        ({"duplicate": True}, "duplicate"),
        ({}, None),
    ],
)
def test_the_debiased_set_removes_samples_with_a_reason(known, reason):
    corpus = {(0, 0): fact(spans=0), (0, 4): fact(spans=0, **known)}

    manifest = curated(KINDS[10], [part_of(corpus)])

    assert manifest["reason"].to_pylist() == [None, reason]


def test_criteria_without_a_column_are_reported_as_not_checked():
    whole = part_of({(0, 0): fact(spans=0, aesthetics=1.0, duplicate=True)})
    part = CuratedPart(whole.base, whole.matches, whole.scores)

    cut = cut_of(KINDS[10], [part])

    words = "no text, score > 0.25, aesthetics not asked, duplicates not asked"
    assert cut["criterion"].to_pylist() == [words]
    assert cut["available"].to_pylist() == [1]


def test_duplicates_are_searched_only_among_eligible_samples():
    corpus = {(0, row): fact(spans=row % 2, duplicate=row > 3) for row in range(8)}
    part = part_of(corpus)
    part = CuratedPart(part.base, part.matches, part.scores, part.aesthetics)
    cut = cut_of(sized(HELD_OUT[0], 1), [part])

    found = passing(KINDS[10], part, [(HELD_OUT[0], cut)])

    first = eligible(HELD_OUT[0], corpus)[0]
    assert set(found["row"].to_pylist()) == {0, 2, 4, 6} - {first[1]}


def test_parts_with_and_without_aesthetics_are_refused():
    whole = part_of({(0, 0): fact(spans=0)})
    bare = CuratedPart(whole.base, whole.matches, whole.scores, duplicates=whole.duplicates)

    with pytest.raises(InputError, match=r"fix: asks for .* in one part and .* with every part"):
        cut_of(KINDS[10], [whole, bare])


def test_fewer_eligible_samples_than_requested_are_refused():
    parts = split({(0, row): fact(words_rate=row / 4) for row in range(5)}, 2)

    message = r"cotr>=0.3 \(text, CoTR \(words\) >= 0.3\): 3 eligible samples, and 4 are asked for"
    with pytest.raises(TooSmall, match=message):
        cut_of(sized(KINDS[4], 4), parts)
    with pytest.raises(TooSmall, match=r"none \(no text\): 0 eligible samples, and all are ask"):
        cut_of(KINDS[1], parts)


def test_a_held_out_set_that_would_be_too_small_is_empty(caplog):
    parts = split({(0, row): fact(spans=row % 2) for row in range(5)}, 2)
    candidates = Candidates(sized(KINDS[1], 4))
    for part in parts:
        candidates.add(part)

    cut = candidates.cut(or_none=True)

    (row,) = cut.to_pylist()
    assert (row["asked"], row["available"], row["last"]) == (4, 3, None)
    manifests = [curate(sized(KINDS[1], 4), part, cut) for part in parts]
    assert not any(pa.concat_tables(manifests)["kept"].to_pylist())
    assert "3 eligible samples, and 4 are asked for: none is taken" in caplog.text


def test_a_held_out_set_by_scores_needs_them_in_every_part():
    whole = part_of({(0, 0): fact()})
    held_out = [(HELD_OUT[1], cut_of(HELD_OUT[1], [whole]))]

    with pytest.raises(InputError, match=r"heldout-parrot: a part came without scores.*score the"):
        cut_of(KINDS[0], [CuratedPart(whole.base, whole.matches)], held_out)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"kind": "cotr"}, r"cotr with no bound, and it takes at_least or below or exactly"),
        ({"kind": "rsa", "exactly": 0}, r"rsa with exactly, and it takes above or at_least or be"),
        ({"kind": "random", "below": 1}, r"random with below, and it takes none"),
        ({"kind": "rsc", "above": 0, "aesthetics_above": 4.5}, r"aesthetics above 4.5 of kind rsc"),
        ({"kind": "random", "size": -1}, r"size -1; give 0 or more"),
        ({"kind": "rsc", "above": 0, "textless": True}, r"textless images of kind rsc"),
    ],
)
def test_bounds_that_do_not_apply_to_a_kind_are_refused(asked, message):
    with pytest.raises(ConfigError, match=f"curation x: {message}"):
        Curation("x", **asked)


def test_texts_of_a_part_may_exceed_what_an_array_of_strings_holds():
    addresses = {"shard": pa.array([0, 0], pa.int32()), "row": pa.array([0, 1], pa.int32())}
    samples = pa.table({**addresses, "metadata": ["a", "b"]})

    texts = criteria._taken(samples.slice(1), samples, "metadata")

    assert (texts.to_pylist(), texts.type) == (["b"], pa.large_string())  # offsets of 64 bits
