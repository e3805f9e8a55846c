"""Every table, figure and gallery says what it shows, on pages and in files."""

from collections import Counter
from pathlib import Path

import pytest

from clipaudit.config.audits import audits
from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.reports.contents import declared_figures
from clipaudit.reports.rendering import layouts

SETTINGS = Path(__file__).parents[2] / "config"


@pytest.mark.parametrize("audit", audits(), ids=lambda audit: audit.name)
def test_each_table_of_an_audit_has_a_title_of_its_own(audit):
    titles = Counter(layout.title for layout in layouts(f"{audit.name}_").values())

    assert "" not in titles
    assert not [title for title, times in titles.items() if times > 1]


@pytest.mark.parametrize("settings", ["demo.yaml", "demo_full.yaml"])
def test_each_figure_of_a_run_has_a_title_of_its_own(settings):
    run = parse_settings(read_settings(SETTINGS / settings))
    titles = Counter(figure.title for figure in declared_figures(run).values())

    assert "" not in titles
    assert not [title for title, times in titles.items() if times > 1]
    assert not [title for title in titles if title.endswith(".")]
