import os
import subprocess
import sys

import pytest

STARTS = {
    "clipaudit": ["-c", "from clipaudit.cli import main; main()", "answers"],
    "snakemake": ["-m", "snakemake", "--configfile", "config/micro.yaml", "--dry-run"],
}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize("program", STARTS)
def test_a_locale_whose_encoding_is_not_utf8_is_refused_in_one_message(program):
    ended = subprocess.run(
        [sys.executable, *STARTS[program]], env=os.environ | ASCII, capture_output=True, text=True
    )

    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].endswith(
        "the encoding of this locale is ascii, not utf-8: files, and names of files, would be "
        "misread. Set PYTHONUTF8=1 and start the same command again."
    )
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_locales_that_python_takes_as_utf8_are_accepted(locale):
    check = "from clipaudit.store.encodings import refuse_other_encodings as check; check()"

    subprocess.run([sys.executable, "-c", check], env={"LC_ALL": locale}, check=True)
