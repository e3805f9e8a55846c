"""Remote shards: named by URL, fetched on reading, verified by their hash."""
