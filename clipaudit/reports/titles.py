"""The title of a table or a figure, and its number in the paper."""

import re

_NUMBERED = re.compile(r"(table|fig)(\d+[a-z]?)(?:_.+)?")
_KINDS = {"table": "Table", "fig": "Figure"}


def paper_number(name: str) -> str:
    """Return the number of a table or a figure in its paper; "" if it has none there.

    >>> paper_number("similarity_table1"), paper_number("parrot_fuzzy")
    ('Table 1', '')
    >>> paper_number("parrot_fig5b"), paper_number("similarity_fig15_val")
    ('Figure 5b', 'Figure 15')
    """
    found = _NUMBERED.fullmatch(name.partition("_")[2])
    return f"{_KINDS[found[1]]} {found[2]}" if found else ""


def title_of(name: str, declared: str) -> str:
    """Return the declared title of a table or a figure, or a title from its name.

    >>> title_of("similarity_table1", "Accuracy"), title_of("parrot_truth", "")
    ('Accuracy', 'Truth')
    """
    return declared or name.partition("_")[2].replace("_", " ").capitalize()


def headed(name: str, declared: str, caption: str) -> str:
    """Return a self-contained caption for a file: title, number in the paper, caption.

    >>> headed("similarity_table1", "Accuracy of models", "Top-1, %.")
    "Accuracy of models (the paper's Table 1). Top-1, %."
    >>> headed("parrot_truth", "", "Read words.")
    'Truth. Read words.'
    """
    number = paper_number(name)
    paper = f" (the paper's {number})" if number else ""
    return f"{title_of(name, declared)}{paper}. {caption}"
