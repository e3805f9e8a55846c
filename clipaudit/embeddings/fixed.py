"""A fixed value of the check of encoders, which layouts print without what computes."""

FEWEST = 10  # different images: with fewer, collapse is not claimed
