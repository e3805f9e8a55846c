import pytest

from clipaudit.errors import InputError
from clipaudit.parrot.given_vocabulary import read_grams
from clipaudit.parrot.vocabulary import GRAMS


@pytest.fixture
def grams(tmp_path):
    """A function: the grams of a file of these bytes, with their frequencies."""

    def read(content, n=1, most=100):
        (tmp_path / "words.txt").write_bytes(content)
        table = read_grams(tmp_path / "words.txt", n=n, most=most)
        assert table.schema == GRAMS
        return [tuple(row.values()) for row in table.to_pylist()]

    return read


def test_lines_are_grams_with_or_without_a_frequency(grams):
    assert grams(b"sale\t7\nnow\nbig sale\t5\n") == [("sale", 7), ("now", 1)]


def test_grams_of_two_words_are_read_from_the_same_file(grams):
    assert grams(b"sale\nbig  sale\t5\n a b \r\n\n", n=2) == [("big sale", 5), ("a b", 1)]


def test_frequencies_of_equal_grams_add_up(grams):
    assert grams(b"\xef\xbb\xbfb\t2\na\t3\nb\t2\n") == [("b", 4), ("a", 3)]


def test_equally_frequent_grams_are_kept_in_file_order(grams):
    assert grams(b"z\ny\nx\n", most=2) == [("y", 1), ("z", 1)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\tmany\n", r"words\.txt, line 2: the frequency is 'many'"),
        (b"a\t\n", r"line 1: the frequency is ''"),
        (b"a\t0\n", r"line 1: the frequency is '0'"),
        (b"\ta\n", r"line 1: the frequency is 'a'"),
        (b"a\t" + b"9" * 5000, r"line 1: the frequency is '999"),
        (b"a\t1\t2\n", r"line 1: the frequency is '1"),
        (b"a b\n", r"1 gram, none of 1 word\. Name another file"),
        (b"", r"0 grams, none of 1 word"),
        (b"\xff\n", r"words\.txt: cannot be read: .*UTF-8 text file, one gram per line"),
    ],
)
def test_a_file_in_another_format_is_refused_with_its_line(grams, content, message):
    with pytest.raises(InputError, match=message):
        grams(content)
