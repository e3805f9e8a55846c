import subprocess
import sys

SHOWN = """
from clipaudit.steps.workflow import _set_threads

_set_threads(3)
import cv2, faiss

print(cv2.getNumThreads(), faiss.omp_get_max_threads())
"""


def test_libraries_have_the_threads_of_the_job():
    asked = [sys.executable, "-c", SHOWN]
    shown = subprocess.run(asked, capture_output=True, text=True, check=True).stdout

    assert shown.split() == ["3", "3"]
