"""Slow libraries stay out of jobs that do not need them, and come back for those that do."""

import subprocess
import sys


def run(script):
    hide = "import sys\nfrom clipaudit.slowimports import hide_slow_imports, show_slow_imports\n"
    subprocess.run([sys.executable, "-c", hide + script], check=True)


def test_open_clip_does_without_transformers_until_they_are_shown():
    run(
        "import types\n"
        "hide_slow_imports()\n"
        "import open_clip.hf_model as user\n"
        "assert user.transformers is None\n"
        "show_slow_imports()\n"
        "assert isinstance(user.transformers, types.ModuleType)\n"
    )


def test_pyarrow_does_without_pandas():
    run(
        "hide_slow_imports()\n"
        "import pyarrow as pa\n"
        "assert pa.table({'a': [1, 2]}).to_pylist() == [{'a': 1}, {'a': 2}]\n"
        "assert 'pandas' not in sys.modules\n"
    )


def test_what_is_hidden_is_as_if_it_were_not_installed():
    run(
        "from importlib.util import find_spec\n"
        "hide_slow_imports()\n"
        "hide_slow_imports()\n"
        "assert find_spec('pandas') is None and find_spec('numpy') is not None\n"
        "show_slow_imports()\n"
        "assert find_spec('pandas') is not None\n"
    )


def test_what_is_imported_already_stays():
    run(
        "import transformers\n"
        "hide_slow_imports()\n"
        "assert sys.modules['transformers'] is transformers\n"
    )


def test_what_is_shown_for_a_while_is_hidden_again():
    run(
        "from clipaudit.slowimports import slow_imports_shown\n"
        "from importlib.util import find_spec\n"
        "hide_slow_imports()\n"
        "with slow_imports_shown():\n"
        "    assert find_spec('pandas') is not None\n"
        "assert find_spec('pandas') is None\n"
    )
