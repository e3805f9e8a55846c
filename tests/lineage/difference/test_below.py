from tworuns import two_runs

from clipaudit.lineage.difference.causes import all_below


def test_below_a_table_are_actions_and_user_files(tmp_path):
    run, _ = two_runs(tmp_path)
    run.files = {"data/0.tar": b"0"}
    index = run.act("samples/s.json", inputs={"tars": ["data/0.tar"]})
    train = run.act("models/m.json", step="train", inputs={"samples": ["samples/s.json"]})
    run.act("models/n.json", step="other", inputs={"samples": ["samples/s.json"]})

    below = all_below(run.run(), [train, None])

    assert below.actions == {index, train}
    assert below.files == {"data/0.tar"}


def test_an_action_without_a_record_has_nothing_below_it(tmp_path):
    run, _ = two_runs(tmp_path)
    run.act("tables/t.json")

    below = all_below(run.run(), ["aa"])

    assert (below.actions, below.files) == ({"aa"}, set())
