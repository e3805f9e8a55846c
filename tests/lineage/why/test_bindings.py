from clipaudit.lineage.why.bindings import bindings

MEMBERS = [
    {"manifest": "m", "corpus": "large", "pruning": "cut"},
    {"manifest": "m", "corpus": "small", "pruning": "all"},
    {"manifest": "n", "corpus": "other", "pruning": "x"},
]


def by_name(row, **relations):
    found = bindings(row, relations, {}).by_name
    return {name: set(values) for name, values in found.items()}


def test_relations_are_followed_to_the_end():
    rows = [{"dataset": "d", "manifest": "m"}, {"dataset": "e", "manifest": "n"}]

    found = by_name({"dataset": "d"}, members=MEMBERS, rows=rows)

    assert (found["corpus"], found["pruning"]) == ({"large", "small"}, {"cut", "all"})


def test_a_relation_with_no_matching_row_binds_nothing():
    assert by_name({"manifest": "unknown"}, members=MEMBERS) == {"manifest": {"unknown"}}


def test_positions_and_titles_belong_to_each_table():
    testsets = [{"position": 4, "title": "T", "testset": "val"}]

    assert by_name({"position": 4, "title": "T"}, testsets=testsets) == {}


def test_floats_and_nulls_bind_nothing():
    assert by_name({"accuracy": 0.5, "baseline": None, "k": 10, "is_new": True}) == {
        "k": {"10"},
        "is_new": {"true"},
    }


def test_a_value_also_concerns_a_row_under_other_column_names():
    found = bindings({"baseline": "n"}, {"members": MEMBERS}, {"style": "white"})

    assert found.own == {"n"}
    assert found.by_value == {"n", "other", "x", "white"}
    assert found.agreeing[1]["members"] == [MEMBERS[2]]


def test_a_row_without_relations_stands_for_itself():
    found = bindings({}, {}, {})

    assert (found.by_name, found.own, found.by_value) == ({}, frozenset(), frozenset())
