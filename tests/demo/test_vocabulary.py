import gzip

import pytest

from clipaudit.config.worlds import GlyphWorld
from clipaudit.demo import glyph_world
from clipaudit.demo.vocabulary import merges_of, vocabulary_file, words_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of open_clip's imports


def words(classes):
    world = GlyphWorld(classes=classes, corpora={"x": {}})
    return words_of([*glyph_world.class_names(world), *glyph_world.caption_phrases(world)])


def tokenizer(path, listed):
    from open_clip.tokenizer import SimpleTokenizer

    path.write_bytes(vocabulary_file(listed))
    return SimpleTokenizer(bpe_path=str(path), context_length=16)


@pytest.mark.parametrize("classes", [6, 50, 186])
def test_open_clip_reads_each_word_as_one_token(tmp_path, classes):
    listed = words(classes)

    read = tokenizer(tmp_path / "bpe.txt.gz", listed)

    assert [len(read.encode(word)) for word in listed] == [1] * len(listed)
    assert max(read.encoder.values()) == read.vocab_size - 1


def test_any_other_text_survives_tokenization(tmp_path):
    read = tokenizer(tmp_path / "bpe.txt.gz", words(20))

    assert (
        read.decode(read.encode("a photo of a zyzzyx 17 \u2602"))
        == "a photo of a zyzzyx 1 7 \u2602 "
    )
    assert read(["a photo of a chess knight"]).shape == (1, 16)


def test_the_longest_captions_fit_into_sixteen_tokens(tmp_path):
    read = tokenizer(tmp_path / "bpe.txt.gz", words(50))
    names = sorted(glyph_world.class_names(GlyphWorld(corpora={"x": {}})), key=len)[-2:]

    caption = "a line drawing of a " + " and a ".join(names)

    assert len(read.encode(caption)) + 2 <= 16


@pytest.mark.parametrize("classes", range(6, 187, 20))
def test_no_two_merges_give_the_same_token(classes):
    """They would leave a hole in open_clip's numbering, and the last token out of range."""
    made = ["".join(pair) for pair in merges_of(words(classes))]

    assert len(set(made)) == len(made)


def test_the_gzip_file_has_no_timestamp(tmp_path):
    content = vocabulary_file(["star", "start"])

    assert gzip.decompress(content).decode().splitlines()[0].startswith("#version")
    assert content[3:10] == bytes(7)
    assert vocabulary_file(["star", "start"]) == content


def test_repeated_letters_merge_from_the_left():
    assert merges_of(["aaab"]) == [("a", "a"), ("aa", "a"), ("aaa", "b</w>")]
