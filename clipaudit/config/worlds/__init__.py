"""Settings of the synthetic worlds: the glyph world and the digit world.

A world has a seed, an image size and named corpora. It does not set a corpus's number of shards: a
shard's bytes depend on the seed, the corpus's name, the shard's number and these settings, so a new
shard changes no other.
"""

from typing import Annotated

from pydantic import Field

from clipaudit.config.worlds.digit_settings import DigitCorpus, DigitWorld
from clipaudit.config.worlds.glyph_settings import GlyphCorpus, GlyphWorld

__all__ = ["DigitCorpus", "DigitWorld", "GlyphCorpus", "GlyphWorld", "World"]

World = Annotated[GlyphWorld | DigitWorld, Field(discriminator="kind")]
