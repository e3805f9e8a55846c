"""The store: objects by content, the pointers and records that name them; knows no workflow."""
