"""The audits' declarations of their reports."""

import subprocess
import sys


def test_declaring_reports_imports_no_table_library():  # every plan and every start would pay
    code = (
        "import sys; from clipaudit.config.settings import Settings\n"
        "from clipaudit.reports import wiring\n"
        "from clipaudit.reports.contents import contents\n"
        "for audit in Settings.known_audits(): contents(audit)\n"
        "print(sorted({'pyarrow', 'duckdb', 'matplotlib', 'torch'} & set(sys.modules)))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout == "[]\n"
