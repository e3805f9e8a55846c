"""What a made world holds: the settings of the glyph world and of the digit world.

A world has a seed, a picture size and named corpora. How many shards a corpus has is not said
here: a shard's bytes depend on the seed, the corpus's name, the shard's number and these
settings, so a further shard changes none of the others.
"""

from typing import Annotated

from pydantic import Field

from clipaudit.config.worlds.digit_settings import DigitCorpus, DigitWorld
from clipaudit.config.worlds.glyph_settings import GlyphCorpus, GlyphWorld

__all__ = ["DigitCorpus", "DigitWorld", "GlyphCorpus", "GlyphWorld", "World"]

World = Annotated[GlyphWorld | DigitWorld, Field(discriminator="kind")]
