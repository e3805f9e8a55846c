"""What people call a table or a figure: what it shows, and its number in the paper."""

import re

_NUMBERED = re.compile(r"(table|fig)(\d+[a-z]?)(?:_.+)?")
_KINDS = {"table": "Table", "fig": "Figure"}


def paper_number(name: str) -> str:
    """Return the number of a table or a figure in its paper; "" where the paper has none.

    >>> paper_number("similarity_table1"), paper_number("parrot_fuzzy")
    ('Table 1', '')
    >>> paper_number("parrot_fig5b"), paper_number("similarity_fig15_val")
    ('Figure 5b', 'Figure 15')
    """
    found = _NUMBERED.fullmatch(name.partition("_")[2])
    return f"{_KINDS[found[1]]} {found[2]}" if found else ""


def title_of(name: str, declared: str) -> str:
    """Return what a table or a figure shows, as its declaration says; its name where that is none.

    >>> title_of("similarity_table1", "Accuracy"), title_of("parrot_truth", "")
    ('Accuracy', 'Truth')
    """
    return declared or name.partition("_")[2].replace("_", " ").capitalize()


def headed(name: str, declared: str, caption: str) -> str:
    """Return a caption that stands alone, in a file: behind its title and the paper's number.

    >>> headed("similarity_table1", "Accuracy of models", "Top-1, %.")
    "Accuracy of models (the paper's Table 1). Top-1, %."
    >>> headed("parrot_truth", "", "Read words.")
    'Truth. Read words.'
    """
    number = paper_number(name)
    paper = f" (the paper's {number})" if number else ""
    return f"{title_of(name, declared)}{paper}. {caption}"
