"""Shared packages name no audit: they read the audits' declarations."""

import re
from pathlib import Path

from clipaudit.config.audits import AUDITS, audits

PACKAGE = Path(__file__).parents[1] / "clipaudit"
NAMES = [folder.rpartition(".")[2] for folder in AUDITS]


def test_no_shared_package_names_an_audits_modules():
    named = re.compile(rf"clipaudit[./]({'|'.join(NAMES)})\b")
    shared = [
        path
        for path in sorted(PACKAGE.rglob("*"))
        if path.suffix in {".py", ".sql", ".tsv", ".j2"}
        and path.relative_to(PACKAGE).parts[0] not in NAMES
    ]

    found = [str(path) for path in shared if named.search(path.read_text())]

    doors = ["__init__.py", "config/audits.py"]  # the public names, and the declarations
    assert found == [str(PACKAGE / name) for name in doors]


def test_an_audits_folder_section_and_tables_have_one_name():
    assert [audit.name for audit in audits()] == NAMES
    for audit in audits():
        tables = [path.stem for path in (PACKAGE / audit.name / "reports/sql").glob("*.sql")]
        assert tables
        assert all(name.startswith(f"{audit.name}_") for name in tables)
