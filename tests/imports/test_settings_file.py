import pytest
import yaml

from clipaudit.errors import ConfigError
from clipaudit.imports.settings_file import add_blocks

BLOCK = {"corpora": {"web": {"shards": "web/{0..1}.tar", "captions": "text"}}}
TEXT = """\
# our run
corpora:
  a: &ours # the first
    shards: a.tar
  b:
    <<: *ours
    shards:
      - b.tar # of March

    # a comment at the end

results: out
"""
HAND = """\
corpora:
  v2:
    # of the paper
    title: ImageNet v2 # as in Table 2
    shards: old.tar
    captions: none # there are labels
    shards_per_part: 3 # tried
"""
NEW = {"shards": "new.tar", "captions": "none"}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(TEXT)
    return path


def test_a_new_file_has_only_the_block(tmp_path):
    add_blocks(tmp_path / "new.yaml", BLOCK, force=False)

    assert yaml.safe_load((tmp_path / "new.yaml").read_text()) == BLOCK


def test_every_other_line_stays_unchanged(path):
    add_blocks(path, BLOCK, force=False)

    added = "  web:\n    shards: web/{0..1}.tar\n    captions: text\n"
    assert path.read_text() == TEXT.replace("of March\n", f"of March\n{added}")


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_line_ends_are_kept(path, line_end):
    path.write_bytes(TEXT.replace("\n", line_end).encode())

    add_blocks(path, BLOCK, force=False)

    added = "  web:\n    shards: web/{0..1}.tar\n    captions: text\n"
    expected = TEXT.replace("of March\n", f"of March\n{added}").replace("\n", line_end)
    assert path.read_bytes().decode() == expected


def test_a_link_stays_and_its_file_is_written(path):
    link = path.with_name("link.yaml")
    link.symlink_to(path.name)

    add_blocks(link, BLOCK, force=False)

    assert link.is_symlink()
    assert "web" in yaml.safe_load(path.read_text())["corpora"]


def test_a_missing_section_is_added_at_the_end(path):
    add_blocks(path, {"label_sets": {"web": {"classes": "c.txt"}}}, force=False)

    assert path.read_text() == f"{TEXT}\nlabel_sets:\n  web:\n    classes: c.txt\n"


def test_adding_twice_changes_nothing(path):
    add_blocks(path, BLOCK, force=False)
    once = path.read_text()

    add_blocks(path, BLOCK, force=False)

    assert path.read_text() == once


def test_a_different_block_of_the_same_name_is_replaced_only_by_force(path):
    other = {"corpora": {"b": {"shards": "c.tar"}}}
    with pytest.raises(ConfigError, match=r"corpora\.b exists and differs"):
        add_blocks(path, other, force=False)
    assert path.read_text() == TEXT

    add_blocks(path, other, force=True)

    assert yaml.safe_load(path.read_text())["corpora"]["b"] == {"shards": "c.tar"}
    assert "# a comment at the end\n\nresults: out\n" in path.read_text()


def test_a_block_that_another_uses_as_an_anchor_is_not_replaced(path):
    other = {"corpora": {"a": {"shards": "a.tar", "captions": "none"}}}
    with pytest.raises(ConfigError, match=r"Paste it by hand:\ncorpora:\n  a:\n    shards: a\.tar"):
        add_blocks(path, other, force=True)
    assert path.read_text() == TEXT


def test_force_replaces_imported_values_and_keeps_the_rest(path):
    path.write_text(HAND)
    _, notes = add_blocks(path, {"corpora": {"v2": {**NEW, "shards_per_part": 9}}}, force=True)

    assert path.read_text() == HAND.replace("old.tar", "new.tar")
    assert notes == ["corpora.v2: title, shards_per_part kept", f"{path}: corpora.v2"]


def test_a_hand_written_title_is_not_a_difference(path):
    path.write_text(HAND.replace("old.tar", "new.tar"))

    add_blocks(path, {"corpora": {"v2": {**NEW, "shards_per_part": 9}}}, force=False)

    assert path.read_text() == HAND.replace("old.tar", "new.tar")


def test_force_replaces_one_source_of_samples_by_another(path):
    path.write_text(HAND)
    listed = {"metadata": {"files": "a.parquet", "key": "key"}, "captions": "none"}

    add_blocks(path, {"corpora": {"v2": listed}}, force=True)

    kept = {"title": "ImageNet v2", "shards_per_part": 3}
    assert yaml.safe_load(path.read_text())["corpora"]["v2"] == {**kept, **listed}
    assert "# of the paper" in path.read_text()


@pytest.mark.parametrize("wrong", ["corpora: [a]", "corpora: {a: b}", "label_sets: 3"])
def test_a_section_of_another_kind_is_one_message(path, wrong):
    path.write_text(wrong)

    with pytest.raises(ConfigError, match=r"expected settings by name, found (list|str|int)"):
        add_blocks(path, BLOCK, force=True)


def test_a_section_in_braces_must_be_edited_by_hand(path):
    path.write_text("corpora: {a: {shards: a.tar}}\n")

    with pytest.raises(ConfigError, match="Paste it by hand"):
        add_blocks(path, BLOCK, force=False)


def test_invalid_settings_are_not_written(path):
    with pytest.raises(ConfigError, match=r"corpora\.web\.labels: 'gone' is not among label_sets"):
        add_blocks(path, {"corpora": {"web": {"shards": "w.tar", "labels": "gone"}}}, force=False)
    assert path.read_text() == TEXT


@pytest.mark.parametrize("last", ["a.tar", "'a.tar'", ">-\n      a.tar\n", "[a.tar]", "[\n a.tar]"])
def test_the_end_of_a_file_without_a_final_newline_is_found(path, last):
    path.write_text(f"corpora:\n  a:\n    shards: {last}")

    add_blocks(path, BLOCK, force=False)

    assert list(yaml.safe_load(path.read_text())["corpora"]) == ["a", "web"]
