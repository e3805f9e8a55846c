"""transformers stays out of jobs that do not need it, and comes back for those that do."""

import subprocess
import sys


def run(script):
    subprocess.run([sys.executable, "-c", script], check=True)


def test_open_clip_does_without_transformers_until_they_are_shown():
    run(
        "import sys, types\n"
        "from clipaudit.slowimports import hide_transformers, show_transformers\n"
        "hide_transformers()\n"
        "import open_clip.hf_model as user\n"
        "assert user.transformers is None\n"
        "show_transformers()\n"
        "assert isinstance(user.transformers, types.ModuleType)\n"
    )


def test_transformers_that_are_imported_already_stay():
    run(
        "import sys, transformers\n"
        "from clipaudit.slowimports import hide_transformers\n"
        "hide_transformers()\n"
        "assert sys.modules['transformers'] is transformers\n"
    )
