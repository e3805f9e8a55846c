from hypothesis import given, settings
from searchcases import assert_same_bytes, brute_force, build, run, searches

from clipaudit.neighbors.reference import Reference


@settings(deadline=None, max_examples=40)
@given(searches())
def test_the_search_equals_a_loop_over_all_pairs(case):
    queries, k, addresses, train = build(case)
    reference = Reference(queries, k, block_rows=64, block_queries=64)

    found = run(reference, addresses, train)

    assert_same_bytes(found, brute_force(queries, k, addresses, train))
