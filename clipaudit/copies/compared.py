"""A picture that is compared with others, and what is computed of it once for all of them."""

from functools import cached_property

import numpy as np
from jaxtyping import UInt8

from clipaudit.copies.alignment import Thumbs, box_thumbs
from clipaudit.copies.borders import Box
from clipaudit.copies.features import Features, features_of
from clipaudit.copies.pyramids import Pyramid, pyramid_of
from clipaudit.copies.templates import Template, template_of


class Compared:
    """A picture and what is derived from it, each computed when it is first asked for."""

    def __init__(self, rgb: UInt8[np.ndarray, "h w 3"]) -> None:
        """Keep the picture."""
        self.rgb = rgb

    @cached_property
    def pyramid(self) -> Pyramid:
        """Return the picture at falling sizes."""
        return pyramid_of(self.rgb)

    @cached_property
    def thumbs(self) -> dict[Box, Thumbs]:
        """Return the thumbnails by which whole pictures are aligned."""
        return box_thumbs(self.pyramid)

    @cached_property
    def template(self) -> Template:
        """Return the picture as it is looked for within others."""
        return template_of(self.pyramid)

    @cached_property
    def features(self) -> Features:
        """Return its strongest features, some 5 ms a picture."""
        return features_of(self.pyramid)
