import pytest
from braceexpand import braceexpand
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.corpora.parts import expand_shards, part_name, parts
from clipaudit.errors import ConfigError

bound = st.integers(0, 130).flatmap(lambda n: st.sampled_from([str(n), f"{n:03d}"]))
numeric = st.builds("{{{}..{}}}".format, bound, bound)
stepped = st.builds("{{{}..{}..{}}}".format, bound, bound, st.integers(1, 40))
listed = st.just("{a,b,}")


@given(st.lists(st.one_of(numeric, stepped, listed, st.just("x/")), min_size=1, max_size=2))
def test_patterns_expand_as_in_webdataset(pieces):
    pattern = "s" + "".join(pieces) + ".tar"

    theirs = list(braceexpand(pattern))

    if len(set(theirs)) == len(theirs):
        assert expand_shards([pattern]) == theirs


def test_patterns_expand_one_after_another():
    assert expand_shards(["b.tar", "{08..10}.tar"]) == ["b.tar", "08.tar", "09.tar", "10.tar"]


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ([], "list of shards is empty"),
        ([""], "empty name"),
        (["*.tar"], r"'\*' may match other files later"),
        (["0000[0-9].tar"], r"Write a range such as \{00000\.\.00041\}"),
        (["{0..3.tar"], "do not pair"),
        (["0..3}.tar"], "do not pair"),
        (["{a,{b,c}}.tar"], "do not pair, or are nested"),
        (["{x}.tar"], r"\{x\} is neither a range"),
        (["{0..9..0}.tar"], "neither a range"),
        (["{0..99999999}.tar"], "10000000"),
        (["{0..9999}{0..9999}.tar"], "100000000 files, the limit"),
        (["a/{0..2}.tar", "a/./1.tar"], "'a/./1.tar' is in the list twice, as numbers 1 and 3"),
    ],
)
def test_a_pattern_without_a_fixed_list_is_refused(patterns, message):
    with pytest.raises(ConfigError, match=message):
        expand_shards(patterns)


@given(st.integers(0, 100), st.integers(1, 40))
def test_parts_cover_each_shard_once(n_shards, per_part):
    cut = parts(n_shards, per_part)

    assert [number for part in cut for number in part] == list(range(n_shards))
    assert all(len(part) == per_part for part in cut[:-1])


def test_parts_hold_at_least_one_shard():
    with pytest.raises(ConfigError, match="shards per part: 0"):
        parts(3, 0)


def test_part_names_sort_in_order():
    assert [part_name(n) for n in (0, 41407, 123456)] == ["00000", "41407", "123456"]
