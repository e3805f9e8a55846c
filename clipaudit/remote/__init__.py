"""Remote shards: named by URL, fetched when they are read, trusted by their hash."""
