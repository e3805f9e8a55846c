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


def test_a_relation_that_no_row_of_agrees_binds_nothing():
    assert by_name({"manifest": "unknown"}, members=MEMBERS) == {"manifest": {"unknown"}}


def test_positions_and_titles_are_each_tables_own():
    testsets = [{"position": 4, "title": "T", "testset": "val"}]

    assert by_name({"position": 4, "title": "T"}, testsets=testsets) == {}


def test_floats_and_nothing_bind_nothing():
    assert by_name({"accuracy": 0.5, "baseline": None, "k": 10, "is_new": True}) == {
        "k": {"10"},
        "is_new": {"true"},
    }


def test_a_value_concerns_a_row_in_columns_of_other_names_too():
    found = bindings({"baseline": "n"}, {"members": MEMBERS}, {"style": "white"})

    assert found.own == {"n"}
    assert found.by_value == {"n", "other", "x", "white"}
    assert found.agreeing[1]["members"] == [MEMBERS[2]]


def test_without_relations_a_row_stands_for_itself():
    found = bindings({}, {}, {})

    assert (found.by_name, found.own, found.by_value) == ({}, frozenset(), frozenset())
