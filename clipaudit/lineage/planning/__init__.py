"""Planning: what a run would compute now, why, and at what cost."""
