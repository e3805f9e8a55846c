"""The store: content-addressed objects, their pointers and records, independent of the workflow."""
