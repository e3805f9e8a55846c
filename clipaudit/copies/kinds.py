"""What pixels say of a candidate pair, from the nearest kind of copy to what is no copy."""

IDENTICAL_BYTES = "identical bytes"
IDENTICAL_PIXELS = "identical pixels"
REENCODED = "re-encoded or resized"
EDITED = "edited"
LOOKALIKE = "lookalike"  # no copy

COPIES = (IDENTICAL_BYTES, IDENTICAL_PIXELS, REENCODED, EDITED)
