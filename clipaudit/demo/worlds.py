"""Makes worlds of any kind for the workflow.

A world's module has `class_names`, `caption_phrases` and `samples`.
"""

from pathlib import Path

from clipaudit.config.worlds import DigitWorld, GlyphWorld
from clipaudit.demo import digit_world, glyph_world
from clipaudit.demo.shard_writer import write_files
from clipaudit.demo.vocabulary import vocabulary_file, words_of
from clipaudit.errors import ConfigError
from clipaudit.store.outputs import write_whole

_MODULES = {"glyphs": glyph_world, "digits": digit_world}  # by kind


def write_shard(
    world: GlyphWorld | DigitWorld, corpus: str, shard: int, tar: Path, truth: Path
) -> None:
    """Write a shard's tar and its truth table, whole or not at all; see `shard_writer`.

    The bytes depend on the world's seed, the corpus's name and plan, and the shard's number. Raises
    ConfigError for a corpus that the world lacks.
    """
    if corpus not in world.corpora:
        raise ConfigError(
            f"worlds: this world has no corpus `{corpus}`, only {', '.join(sorted(world.corpora))}."
            " Add it under corpora, or correct the name."
        )
    samples = _MODULES[world.kind].samples(world, corpus, shard)
    write_files(samples, shard, tar, truth)


def write_words(world: GlyphWorld | DigitWorld, classes: Path, vocabulary: Path) -> None:
    """Write the class names, one per line in the order of labels, and the BPE vocabulary.

    The vocabulary has one token for each word of a class name or of a caption's frame.
    """
    module = _MODULES[world.kind]
    names, phrases = module.class_names(world), module.caption_phrases(world)
    write_whole(classes, "".join(f"{name}\n" for name in names).encode())
    write_whole(vocabulary, vocabulary_file(words_of([*names, *phrases])))
