"""Holds an image that is compared with others, and what is computed from it once."""

from functools import cached_property

import numpy as np
from jaxtyping import UInt8

from clipaudit.copies.alignment import Thumbs, box_thumbs
from clipaudit.copies.borders import Box
from clipaudit.copies.features import Features, features_of
from clipaudit.copies.pyramids import Pyramid, pyramid_of
from clipaudit.copies.templates import Template, template_of


class Compared:
    """An image and what is derived from it, each computed when it is first asked for."""

    def __init__(self, rgb: UInt8[np.ndarray, "h w 3"]) -> None:
        """Keep the image."""
        self.rgb = rgb

    @cached_property
    def pyramid(self) -> Pyramid:
        """Return the image at falling sizes."""
        return pyramid_of(self.rgb)

    @cached_property
    def thumbs(self) -> dict[Box, Thumbs]:
        """Return the thumbnails by which whole images are aligned."""
        return box_thumbs(self.pyramid)

    @cached_property
    def template(self) -> Template:
        """Return the template that is searched for within other images."""
        return template_of(self.pyramid)

    @cached_property
    def features(self) -> Features:
        """Return its strongest features, some 5 ms an image."""
        return features_of(self.pyramid)
