"""docs/signatures.md has every public name as defined in the code."""

from pathlib import Path

import clipaudit
from clipaudit.cli.signatures import signatures_page

PAGE = (Path(__file__).parents[2] / "docs/signatures.md").read_text()


def test_the_page_matches_the_code():
    assert signatures_page() == PAGE, "run: python -m clipaudit.cli.pages"


def test_every_public_name_has_a_heading_and_a_definition():
    for name in set(clipaudit.__all__) - {"__version__"}:
        assert f"## {name}\n\n```python\n" in PAGE
        assert f"def {name}(" in PAGE or f"class {name}" in PAGE


def test_a_signature_has_shapes_and_defaults():
    assert 'queries: Float[np.ndarray, "q d"]' in PAGE
    assert ", k: int = 1\n" in PAGE


def test_an_example_is_a_block_of_code():
    assert '```python\n>>> cotr(["Red SALE today"' in PAGE
