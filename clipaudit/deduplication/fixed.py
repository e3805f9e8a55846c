"""A fixed value of deduplication, which planning reads without what computes."""

LEAST_ROWS = 39  # per cluster, if the data set the number of clusters (origin: faiss)
