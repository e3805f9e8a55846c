import pytest

from clipaudit.errors import InputError
from clipaudit.parrot.filters import names_any, phrases_of, read_phrases


@pytest.mark.parametrize(
    ("caption", "names"),
    [
        ("a red fox", True),
        ("The RED-FOX!", True),
        ("a fox, red", False),
        ("red foxes", False),
        ("concatenate", False),
        ("my cat", True),
        ("red", False),
        ("CAT &amp; dog", True),
        ("", False),
    ],
)
def test_a_caption_matches_a_phrase_by_adjacent_whole_words(caption, names):
    assert names_any(caption, phrases_of(["red fox", "cat", "", "red fox den"])) is names


def test_phrases_are_the_lines_of_a_file(tmp_path):
    (tmp_path / "words.txt").write_bytes(b"\xef\xbb\xbfTench\r\n\ngreat white shark\ntench\n")

    found = read_phrases(tmp_path / "words.txt")

    assert found == {"tench": [("tench",)], "great": [("great", "white", "shark")]}


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"\n--\n", "no line has a word"), (b"\xff", "cannot be read"), (None, "cannot be read")],
)
def test_a_file_without_words_is_refused_with_its_path(tmp_path, content, message):
    path = tmp_path / "words.txt"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(InputError, match=f"words.txt: {message}"):
        read_phrases(path)
