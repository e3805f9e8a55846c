"""The Open Clip Art Library, as Debian packages it, written as shards."""
