import os

import pytest
from test_verification import Run

from clipaudit.lineage.keeping.repair import Outcome, mend, outcomes
from clipaudit.store.placements import Placement, place
from clipaudit.store.store import link_object


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def mended(run):
    report = run.verify()
    return {
        path.name: digest for path, digest in mend(run.results, run.store, report.broken).items()
    }


def test_a_damaged_object_is_quarantined_and_its_pointer_removed(run):
    digest = run.object("one").parent.name + run.object("one").name
    run.alter("one", "xxx")

    assert mended(run) == {"one.json": digest}
    assert (run.store.root / "quarantine" / digest).read_text() == "xxx"
    assert not run.store.has(digest)
    assert not run.pointers["one"].exists()
    assert run.pointers["two"].exists()


def test_the_pointer_of_a_missing_object_is_removed(run):
    run.object("one").unlink()

    assert list(mended(run)) == ["one.json"]


def test_a_link_is_restored_and_no_job_needs_to_run(run):
    link_object(run.pointers["one"].with_suffix(".txt"), run.object("two"))

    assert mended(run) == {}
    assert run.verify().faults == []


def test_an_unreadable_pointer_has_the_digest_that_its_action_recorded(run):
    digest = run.object("one").parent.name + run.object("one").name
    run.pointers["one"].write_text("")

    assert mended(run) == {"one.json": digest}


def test_a_lost_epoch_is_computed_again_by_its_models_job(run):
    """Snakemake knows only the model."""
    epoch = run.act("a", "one.epochs/0000", output="epochs/0000")
    place(run.results, run.pointers["one"], Placement("a" * 64, "table", {}))
    os.remove(os.path.realpath(epoch.with_suffix(".txt")))

    assert list(mended(run)) == ["one.json"]
    assert not epoch.exists()


def test_an_epoch_whose_model_is_missing_stays_a_fault(run):
    epoch = run.act("d", "gone.epochs/0000", output="epochs/0000")
    os.remove(os.path.realpath(epoch.with_suffix(".txt")))

    assert mended(run) == {}
    assert [fault.pointer for fault in run.verify().broken] == [epoch]


def test_a_file_that_no_action_placed_is_never_removed(run):
    notes = run.results / "notes.json"
    notes.write_text("")

    assert mended(run) == {}
    assert notes.exists()


def test_a_damaged_object_that_nothing_names_is_only_moved_aside(run):
    run.alter("one", "xxx")
    run.pointers["one"].unlink()

    report = run.verify(everything=True)

    assert mend(run.results, run.store, report.broken) == {}
    assert run.verify(everything=True).faults == []


def test_returned_pointers_are_distinguished_from_different_and_missing_ones(run):
    one, two, three = run.pointers.values()
    digest = run.object("one").parent.name + run.object("one").name
    three.unlink()

    told = outcomes({one: digest, two: digest, three: digest})

    assert [outcome.word for outcome in told] == ["same", "other", "gone"]
    assert Outcome(one, None, digest).word == "same"  # the previous content is unknown
