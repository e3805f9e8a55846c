"""The search in C++, for x86 processors."""
