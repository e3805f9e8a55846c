"""docs/quickstart.md and docs/tutorial.md, run as written in an empty folder."""

import pytest
from clipartfiles import real_shards
from shownpages import ROOT, run_page


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_quickstart_prints_the_output_shown(tmp_path):
    run_page("docs/quickstart.md", tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_tutorial_prints_the_output_shown(tmp_path):
    (tmp_path / "config").symlink_to(ROOT / "config")  # the page is for a clone
    (tmp_path / "data").mkdir()
    (tmp_path / "data/clipart").symlink_to(real_shards())

    run_page("docs/tutorial.md", tmp_path)
