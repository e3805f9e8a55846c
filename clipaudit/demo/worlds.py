"""The entry to the made worlds: what the workflow calls, whatever the kind of world.

A world's module offers `class_names`, `caption_phrases` and `samples`.
"""

from collections.abc import Iterator
from pathlib import Path

from clipaudit.config.worlds import DigitWorld, GlyphWorld
from clipaudit.demo.shard_writer import Sample, write_files, write_whole
from clipaudit.demo.vocabulary import vocabulary_file, words_of
from clipaudit.errors import ConfigError


def write_shard(
    world: GlyphWorld | DigitWorld, corpus: str, shard: int, tar: Path, truth: Path
) -> None:
    """Write a shard's tar and its truth table, whole or not at all; see `shard_writer`.

    The bytes depend on the world's seed, the corpus's name and plan, and the shard's number.
    A corpus that the world lacks is a `ConfigError`.
    """
    if corpus not in world.corpora:
        raise ConfigError(
            f"worlds: this world has no corpus `{corpus}`, only {', '.join(sorted(world.corpora))}."
            " Add it under corpora, or correct the name."
        )
    write_files(_samples(world, corpus, shard), shard, tar, truth)


def write_words(world: GlyphWorld | DigitWorld, classes: Path, vocabulary: Path) -> None:
    """Write the class names, one a line in the order of labels, and the BPE vocabulary.

    The vocabulary has one token for each word of a class name or of a caption's frame.
    """
    names, phrases = _words(world)
    write_whole(classes, "".join(f"{name}\n" for name in names).encode())
    write_whole(vocabulary, vocabulary_file(words_of([*names, *phrases])))


def _samples(world: GlyphWorld | DigitWorld, corpus: str, shard: int) -> Iterator[Sample]:
    if isinstance(world, GlyphWorld):
        from clipaudit.demo import glyph_world

        return glyph_world.samples(world, corpus, shard)
    from clipaudit.demo import digit_world

    return digit_world.samples(world, corpus, shard)


def _words(world: GlyphWorld | DigitWorld) -> tuple[list[str], list[str]]:
    if isinstance(world, GlyphWorld):
        from clipaudit.demo import glyph_world

        return glyph_world.class_names(world), glyph_world.caption_phrases(world)
    from clipaudit.demo import digit_world

    return digit_world.class_names(world), digit_world.caption_phrases(world)
