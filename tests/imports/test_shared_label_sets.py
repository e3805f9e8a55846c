import pytest

from clipaudit.errors import ConfigError
from clipaudit.imports.label_sets import share_label_sets


@pytest.fixture
def settings(tmp_path):
    """Return settings of one test set with three classes."""
    label_set = classes(tmp_path, "old", "cat\ndog\nfish", templates=["a {}"])
    return {"label_sets": {"pets": label_set}, "corpora": {"pets": {"labels": "pets"}}}


def classes(folder, name, text, **more):
    (folder / name).write_text(text)
    return {"classes": str(folder / name), **more}


def blocks(label_set, name="v2", corpus="v2"):
    return {"label_sets": {name: label_set}, "corpora": {corpus: {"labels": name}}}


def test_a_label_set_with_the_same_classes_is_used(tmp_path, settings):
    new = classes(tmp_path, "new", "cat\ndog \nfish\n", templates=["a {}"])

    found, notes = share_label_sets(blocks(new), settings, force=False)

    assert found == {"corpora": {"v2": {"labels": "pets"}}}
    assert notes == ["label_sets.pets has the same 3 classes: used"]


def test_an_import_without_prompts_uses_existing_ones(tmp_path, settings):
    new = classes(tmp_path, "new", "cat\ndog\nfish")

    assert "label_sets" not in share_label_sets(blocks(new), settings, force=False)[0]


@pytest.mark.parametrize("text", ["dog\ncat\nfish", "cat\ncow", "cat\ndog\nfish\nbird"])
def test_another_order_or_number_of_classes_is_another_label_set(tmp_path, settings, text):
    new = blocks(classes(tmp_path, "new", text, templates=["a {}"]))

    assert share_label_sets(new, settings, force=False) == (new, [])


def test_different_prompts_are_another_label_set(tmp_path, settings):
    new = blocks(classes(tmp_path, "new", "cat\ndog\nfish", templates=["the {}"]))

    assert share_label_sets(new, settings, force=False) == (new, [])


@pytest.mark.parametrize("force", [False, True])
def test_a_name_that_another_corpus_uses_is_not_replaced(tmp_path, settings, force):
    new = classes(tmp_path, "new", "dog\ncat\nfish", templates=["a {}"])

    with pytest.raises(ConfigError) as refused:
        share_label_sets(blocks(new, name="pets"), settings, force=force)
    assert str(refused.value) == (
        f"label_sets.pets ({tmp_path}/old) has 3 classes, {tmp_path}/new has 3; number 0 is 'cat' "
        "there and 'dog' here. It is used by corpora.pets. Name another label set by --label-set."
    )


def test_a_label_set_of_only_this_corpus_is_replaced_only_by_force(tmp_path, settings):
    new = blocks(classes(tmp_path, "new", "a\nb", templates=["a {}"]), name="pets", corpus="pets")

    assert share_label_sets(new, settings, force=True) == (new, [])
    with pytest.raises(ConfigError, match=r"has 3 classes, .*new has 2; .* replace it by --force"):
        share_label_sets(new, settings, force=False)


def test_an_unreadable_label_set_is_not_used(tmp_path, settings):
    (tmp_path / "old").unlink()
    new = classes(tmp_path, "new", "cat\ndog\nfish", templates=["a {}"])

    assert share_label_sets(blocks(new), settings, force=False) == (blocks(new), [])
    with pytest.raises(ConfigError, match=r"cannot be compared with .*new: .*cannot be read"):
        share_label_sets(blocks(new, name="pets"), settings, force=True)


def test_classes_that_are_a_subset_of_another_label_set_get_a_map_to_it(tmp_path, settings):
    new = blocks(classes(tmp_path, "new", "cat\nfish", templates=["a {}"]))

    found, notes = share_label_sets(new, settings, force=False)

    to = {"to": "pets", "classes": [0, 2]}
    assert found["corpora"] == {"v2": {"labels": "v2", "label_map": to}}
    assert found["label_sets"] == new["label_sets"]
    assert notes == ["the 2 classes are a subset of label_sets.pets: label_map says which"]
