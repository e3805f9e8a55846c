from clipaudit.site.told import told_lines


def test_a_test_set_of_one_image_is_counted_in_the_singular():
    told = {"corpora": {"val": {"images": 1, "shards": 1}}, "audits": {}, "drops": []}

    assert list(told_lines(told)) == ["val: 1 image in 1 shard"]


def test_long_lists_of_corpora_are_wrapped_and_a_long_label_stands_apart():
    corpora = {f"set{number}": {"images": 9, "shards": 2} for number in range(9)}
    answer = {"label": "Memorization", "headline": "Yes.", "sentences": []}

    lines = list(told_lines({"corpora": corpora, "audits": {"m": answer}, "drops": []}))

    assert max(map(len, lines)) <= 100
    assert lines[-1] == "Memorization Yes."
