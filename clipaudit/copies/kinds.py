"""Names the kinds of candidate pairs, from the nearest kind of copy to lookalikes."""

IDENTICAL_BYTES = "identical bytes"
IDENTICAL_PIXELS = "identical pixels"
REENCODED = "re-encoded or resized"
EDITED = "edited"
LOOKALIKE = "lookalike"  # not a copy

COPIES = (IDENTICAL_BYTES, IDENTICAL_PIXELS, REENCODED, EDITED)
