from clipaudit.config.deduplication import Deduplication


def test_a_given_number_of_clusters_is_divided_into_groups():
    settings = Deduplication(threshold=0.5, clusters=5, clusters_per_group=2)

    assert len(settings.groups(9)) == 3


def test_groups_follow_the_parts_if_clusters_follow_the_data():
    settings = Deduplication(threshold=0.5)

    assert len(settings.groups(3)) == 3
    assert len(settings.groups(1_000)) == 100


def test_the_rule_of_the_paper_needs_no_thresholds_besides_its_own():
    settings = Deduplication(threshold=0.5, rule="paper", sweep=[])

    assert settings.floor() == 0.5
