import pytest
from exportedrun import two_parts

from clipaudit.errors import InputError
from clipaudit.provenance.recorded import ended, parameters, recorded, title


@pytest.fixture
def run(tmp_path):
    run = two_parts(tmp_path)
    run.report("tables", "similarity_table1", "large/pruned/00000", "large/pruned/00001")
    run.report("figures", "parrot_fig1", "large/all/00000")
    return run


def test_all_tables_and_figures_are_written_by_default(run):
    found = recorded(run.results, run.store)

    assert [target.name for target in found.targets] == [
        "figures/parrot_fig1.csv",
        "figures/parrot_fig1.parquet",
        "tables/similarity_table1.csv",
        "tables/similarity_table1.parquet",
    ]
    assert len(found.records) == 7  # two reports, three manifests, two parts of an index


def test_one_table_brings_exactly_what_is_below_it(run):
    found = recorded(run.results, run.store, ["parrot_fig1"])

    assert [title(record) for record in found.records.values()] == [
        "index corpus=large part=00000",
        "prune corpus=large part=00000",
        "report_figure table=parrot_fig1",
    ]


def test_an_unknown_table_is_answered_with_the_nearest(run):
    with pytest.raises(InputError, match=r"'similarty_table1'\. Did you mean similarity_table1"):
        recorded(run.results, run.store, ["similarty_table1"])


def test_results_without_tables_say_how_to_make_some(tmp_path):
    run = two_parts(tmp_path)

    with pytest.raises(
        InputError, match=r"no tables or figures yet\. Run `clipaudit run SETTINGS all_tables`"
    ):
        recorded(run.results, run.store)


def test_inputs_are_named_by_their_place_in_results_and_user_files_by_their_path(run):
    found = recorded(run.results, run.store, ["parrot_fig1"])

    index, prune, report = found.records.values()
    (tar, _) = index.ingredients.inputs["tars"]
    assert found.input_name(tar) == "tars/large/0.tar"
    (samples,) = prune.ingredients.inputs["samples"]
    assert found.input_name(samples) == "samples/large/00000.parquet"
    assert [place for place, _, _ in found.outputs(report)] == [
        "figures/parrot_fig1.csv",
        "figures/parrot_fig1.parquet",
    ]


def test_equal_content_at_two_places_is_named_by_the_place_that_was_read(run):
    run.manifest("large", "twin", "00000", [(0, 0, None), (0, 1, "too near"), (1, 0, None)])
    run.report("tables", "twins", "large/twin/00000", "large/pruned/00000")

    found = recorded(run.results, run.store, ["twins"])

    read = list(found.records.values())[-1].ingredients.inputs["manifest_rows"]
    assert [found.input_name(file) for file in read] == [
        "manifests/large/twin/00000.parquet",
        "manifests/large/pruned/00000.parquet",
    ]


def test_parameters_are_texts_by_dotted_name(run):
    run.report("tables", "asked", "large/all/00000", settings={"of": {"k": [1, 2], "none": None}})

    *_, record = recorded(run.results, run.store, ["asked"]).records.values()

    assert parameters(record) == {
        "of.k": "[1, 2]",
        "sql": "asked",
        "table": "asked",
        "library.numpy": "2.3.5",
        "library.python": "3.11.7",
    }


def test_an_action_ends_its_duration_after_its_start(run):
    first, *_ = recorded(run.results, run.store).records.values()

    assert first.execution.started == "2026-01-01T00:00:01.000+00:00"
    assert ended(first) == "2026-01-01T00:00:02.500+00:00"


def test_equal_outputs_of_two_actions_are_named_by_their_own_places(run):
    run.manifest("large", "twin", "00000", [(0, 0, None), (0, 1, "too near"), (1, 0, None)])
    run.report("tables", "twins", "large/twin/00000", "large/pruned/00000")

    found = recorded(run.results, run.store, ["twins"])

    prunes = [each for each in found.records.values() if each.ingredients.step == "prune"]
    assert sorted(place for each in prunes for place, _, _ in found.outputs(each)) == [
        "manifests/large/pruned/00000.parquet",
        "manifests/large/twin/00000.parquet",
    ]


def test_an_output_without_a_current_place_is_named_by_its_digest(run):
    (run.results / "drops/index/large/00000.json").unlink()

    index, *_ = recorded(run.results, run.store, ["parrot_fig1"]).records.values()

    found = recorded(run.results, run.store, ["parrot_fig1"])
    digest = index.outputs["drops"].pointer.digest
    assert next(found.outputs(index))[0] == f"index/drops/{digest}.parquet"
