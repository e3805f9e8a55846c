import pyarrow as pa
import pytest
from handmaderun import HandmadeRun
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clipaudit.lineage.why import witness
from clipaudit.lineage.why.answer import why

MEANS = "select corpus, avg(score) as mean from scores group by corpus order by corpus"
CHANGES = """
with accuracies as (
    select manifest, count(*) filter (where right_rank = 0) / count(*) as accuracy,
    from predictions
    group by manifest
)
select rows.dataset, rows.manifest, rows.baseline, own.accuracy,
    own.accuracy / base.accuracy - 1 as relative_change,
from rows
left join accuracies as own on own.manifest = rows.manifest
left join accuracies as base on base.manifest = rows.baseline
order by rows.dataset
"""
ROWS = [
    {"dataset": "whole", "manifest": "all", "baseline": None},
    {"dataset": "pruned", "manifest": "all.cut", "baseline": "all"},
    {"dataset": "other", "manifest": "x", "baseline": None},
]
SIZES = """
select members.manifest, count(*) filter (where kept) as size
from members
inner join manifest_rows
    on manifest_rows.corpus = members.corpus and manifest_rows.pruning = members.pruning
group by members.manifest order by members.manifest
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    return HandmadeRun(tmp_path, monkeypatch)


def scores(run, **values):
    """Return a file of scores for each corpus."""
    return [
        run.act("score", {f"scores/{corpus}.json": ({"corpus": corpus}, rows)})[0]
        for corpus, rows in (
            (corpus, [{"score": float(value)} for value in each]) for corpus, each in values.items()
        )
    ]


def predictions(run):
    """Return a file for each manifest: 1 of 2, 1 of 4 and 0 of 2 are right."""
    ranks = {"all": [0, 3], "all.cut": [0, 1, 1, 1], "x": [5, 5]}
    return [
        run.act(
            "evaluate",
            {f"p/{name}.json": ({"manifest": name}, [{"right_rank": rank} for rank in each])},
        )[0]
        for name, each in ranks.items()
    ]


def asked(run, name, where, column=None, **options):
    return why(run.results, run.store, name, where, column, seconds=20, **options)


def test_a_mean_comes_from_the_rows_of_its_group(run):
    run.report("probe", MEANS, {"scores": scores(run, a=[1, 2], b=[3, 4, 5])})

    part = asked(run, "probe", "corpus = 'b'", "mean")["parts"]["scores"]

    assert (part["files"], part["of_files"]) == (1, 2)
    assert (part["rows"], part["of_rows"]) == (3, 5)
    assert part["by"] == ["corpus: b"]


def test_several_rows_come_from_the_inputs_of_any_of_them(run):
    run.report("probe", MEANS, {"scores": scores(run, a=[1], b=[2], c=[3])})

    part = asked(run, "probe", "corpus <> 'b'")["parts"]["scores"]

    assert part["files"] == 2
    assert part["by"] == ["corpus: a, c"]


def test_a_relative_change_comes_from_its_baseline_too(run):
    run.report("probe", CHANGES, {"predictions": predictions(run)}, {"rows": ROWS})

    answer = asked(run, "probe", "dataset = 'pruned'", "relative_change")

    assert answer["parts"]["predictions"]["rows"] == 6
    assert answer["parts"]["predictions"]["by"] == ["manifest: all, all.cut"]


def test_the_accuracy_beside_a_relative_change_does_not_come_from_the_baseline(run):
    run.report("probe", CHANGES, {"predictions": predictions(run)}, {"rows": ROWS})

    answer = asked(run, "probe", "dataset = 'pruned'", "accuracy")

    assert answer["parts"]["predictions"]["by"] == ["manifest: all.cut"]


def test_a_whole_row_comes_from_the_inputs_of_any_of_its_cells(run):
    run.report("probe", CHANGES, {"predictions": predictions(run)}, {"rows": ROWS})

    answer = asked(run, "probe", "dataset = 'pruned'")

    assert answer["parts"]["predictions"]["by"] == ["manifest: all, all.cut"]


def test_an_accuracy_of_zero_comes_from_the_rows_that_were_wrong(run):
    """An empty set of rows would give no accuracy; the search does not try it for a 0."""
    run.report("probe", CHANGES, {"predictions": predictions(run)}, {"rows": ROWS})

    answer = asked(run, "probe", "dataset = 'other'", "accuracy")

    assert answer["rows"][0]["accuracy"] == 0
    assert answer["parts"]["predictions"]["rows"] == 2


def test_a_name_is_followed_through_a_relation(run):
    pairs = [("large", "all"), ("large", "cut"), ("small", "all"), ("small", "cut")]
    files = [
        run.act("prune", {f"m/{c}-{p}.json": ({"corpus": c, "pruning": p}, [{"kept": True}])})[0]
        for c, p in pairs
    ]
    members = [
        {"manifest": "both", "corpus": "large", "pruning": "cut"},
        {"manifest": "both", "corpus": "small", "pruning": "all"},
        {"manifest": "one", "corpus": "small", "pruning": "cut"},
    ]
    run.report("probe", SIZES, {"manifest_rows": files}, {"members": members})

    part = asked(run, "probe", "manifest = 'both'", "size")["parts"]["manifest_rows"]

    assert part["by"] == ["corpus and pruning: large cut, small all"]
    assert part["files"] == 2


def test_a_window_over_all_rows_keeps_all_rows(run):
    ranks = f"select corpus, rank() over (order by mean) as place from ({MEANS}) order by corpus"
    run.report("probe", ranks, {"scores": scores(run, a=[1], b=[2], c=[3])})

    answer = asked(run, "probe", "corpus = 'c'", "place")

    assert answer["verified"]
    assert answer["parts"]["scores"]["files"] == 3


def test_rows_inside_a_file_are_distinguished(run):
    gaps = [{"measure": m, "k": k, "value": k + 0.5} for m in ("ppg", "prg") for k in (10, 20)]
    files = run.act("measure", {"gaps/a.json": ({"point": "default"}, gaps)})
    run.report("probe", "select * from gaps order by all", {"gaps": files})

    answer = asked(run, "probe", "measure = 'prg' and k = 20", "value", sample=5)

    part = answer["parts"]["gaps"]
    assert (part["rows"], part["of_rows"]) == (1, 4)
    assert part["sample"] == [{"point": "default", "measure": "prg", "k": 20, "value": 20.5}]


def test_a_view_that_does_not_contribute_to_the_cell_is_left_out(run):
    sql = """
    select scores.corpus, avg(score) as mean, any_value(note) as note,
    from scores left join notes on notes.corpus = scores.corpus
    group by scores.corpus order by scores.corpus
    """
    notes = run.act("note", {"notes/a.json": ({"corpus": "a"}, [{"note": "x"}])})
    run.report("probe", sql, {"scores": scores(run, a=[1], b=[2]), "notes": notes})

    answer = asked(run, "probe", "corpus = 'a'", "mean")

    assert answer["parts"]["scores"]["files"] == 1
    assert answer["parts"]["notes"]["files"] == 0
    assert [each["input"] for each in answer["edges"]] == ["scores"]


def test_a_restriction_that_makes_the_sql_fail_is_not_kept(run):
    sql = "select if(count(*) = 2, 'a', error('too few')) as corpus, 7 as seven from scores"
    run.report("probe", sql, {"scores": scores(run, a=[1], b=[2])})

    answer = asked(run, "probe", "corpus = 'a'", "seven")

    assert answer["verified"]
    assert answer["parts"]["scores"]["files"] == 2


def test_nan_equals_itself(run):
    sql = (
        "select corpus, 'nan'::double * sum(score) as odd from scores group by corpus order by all"
    )
    run.report("probe", sql, {"scores": scores(run, a=[1], b=[2])})

    answer = asked(run, "probe", "corpus = 'a'", "odd")

    assert answer["rows"][0]["odd"] == "nan"
    assert answer["parts"]["scores"]["by"] == ["corpus: a"]


def test_files_are_distinguished_by_labels_without_time(run):
    run.report("probe", MEANS, {"scores": scores(run, a=[1], b=[2])})

    answer = why(run.results, run.store, "probe", "corpus = 'a'", "mean", seconds=0)

    assert (answer["verified"], answer["parts"]) == (None, None)
    assert [each["labels"] for each in answer["edges"]] == [{"corpus": "a"}]
    assert "--seconds allows more time" in answer["notes"][0]
    assert "too much to read within 0 s" in answer["notes"][0]


def test_a_refuted_restriction_is_not_run_again(run, monkeypatch):
    ranks = f"select corpus, rank() over (order by mean) as place from ({MEANS}) order by corpus"
    run.report("probe", ranks, {"scores": scores(run, a=[1], b=[2], c=[3])})
    ran, table = [], witness.report_table
    monkeypatch.setattr(
        witness,
        "report_table",
        lambda sql, views, given: ran.append(views) or table(sql, views, given),
    )

    asked(run, "probe", "corpus = 'c'", "place")

    assert [len(views["scores"]) for views in ran] == [1, 0, 3]


def test_all_rows_are_verified_also_when_time_is_up(run, monkeypatch):
    monkeypatch.setattr(witness, "CLOCK_PER_WORK", 0)
    run.report("probe", MEANS, {"scores": scores(run, a=[1], b=[2])})

    answer = asked(run, "probe", "corpus = 'a'", "mean")

    assert (answer["verified"], answer["parts"]["scores"]["files"]) == (True, 2)
    assert "not finished in 20 s (--seconds): scores, corpus: a" in answer["notes"][0]


def test_views_of_many_files_are_left_out_first(run, monkeypatch):
    monkeypatch.setattr(witness, "MANY_FILES", 2)
    monkeypatch.setattr(witness, "FILES_PER_SECOND", 3 / 20)  # 3 files at once
    sql = """
    select corpus, avg(score) as mean, (select count(*) from marks) as marks
    from scores group by corpus order by corpus
    """
    outputs = {f"marks/{n}.json": ({"part": str(n)}, [{"mark": n}]) for n in range(5)}
    marks = run.act("mark", outputs)
    run.report("probe", sql, {"scores": scores(run, a=[1], b=[2]), "marks": marks})

    parts = asked(run, "probe", "corpus = 'a'", "mean")["parts"]

    assert (parts["marks"]["files"], parts["scores"]["by"]) == (0, ["corpus: a"])


GROUPS = st.dictionaries(st.sampled_from("abcd"), st.lists(st.integers(1, 9), min_size=1))


@given(GROUPS.filter(bool))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_sum_comes_from_exactly_the_rows_of_its_group(tmp_path_factory, monkeypatch, groups):
    run = HandmadeRun(tmp_path_factory.mktemp("run"), monkeypatch)
    sql = "select corpus, sum(score) as total from scores group by corpus order by corpus"
    run.report("probe", sql, {"scores": scores(run, **groups)})
    chosen = min(groups)

    part = asked(run, "probe", f"corpus = '{chosen}'", "total")["parts"]["scores"]

    assert (part["files"], part["rows"]) == (1, len(groups[chosen]))


NEAR = """
select testset, count(*) filter (where rank = 0 and similarity > 0.95) as near
from neighbors group by testset order by testset
"""


def neighbors(run, **similarities):
    """Return the two nearest of each test image of a test set; the second one is also near."""
    rows = [
        {"testset": testset, "image": image, "rank": rank, "similarity": similarity - rank / 1000}
        for testset, each in similarities.items()
        for image, similarity in enumerate(each)
        for rank in (0, 1)
    ]
    table = pa.Table.from_pylist(rows)
    coded = table.set_column(0, "testset", table["testset"].dictionary_encode())
    return run.act("nearest", {"n/large.json": ({"corpus": "large"}, coded)})


def test_a_count_comes_from_the_rows_that_it_counts(run):
    run.report(
        "probe", NEAR, {"neighbors": neighbors(run, val=[0.99, 0.5, 0.97, 0.3], other=[1.0])}
    )

    part = asked(run, "probe", "testset = 'val'", "near", sample=9)["parts"]["neighbors"]

    assert (part["rows"], part["of_rows"]) == (2, 10)
    assert [row["image"] for row in part["sample"]] == [0, 2]
    assert part["by"] == ["testset: val", "rank: 0", "similarity: the 2 highest"]


def test_a_value_that_is_not_a_count_is_not_narrowed_to_its_highest_rows(run):
    shares = NEAR.replace("count(*) filter", "1.0 / count(*) filter")
    run.report("probe", shares, {"neighbors": neighbors(run, val=[0.99, 0.5, 0.97], other=[1.0])})

    part = asked(run, "probe", "testset = 'val'", "near")["parts"]["neighbors"]

    assert part["by"] == ["testset: val"]
