import hashlib
import os
import subprocess
import sys

import pytest

from clipaudit.reports.drawing import (
    PALETTE,
    SMALLEST_POINTS,
    WIDTHS,
    figure_bytes,
    new_figure,
    style,
)

SCRIPT = """
import hashlib
from clipaudit.reports.drawing import figure_bytes, new_figure, style
with style():
    figure, axes = new_figure(1, 2)
    axes[0, 0].plot([0, 1], [1, 0], label="a")
    axes[0, 0].legend()
print(*(hashlib.sha256(each).hexdigest() for each in figure_bytes(figure)))
"""


def drawn(seed):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_bytes_are_the_same_in_every_process():
    assert drawn("1") == drawn("2")


def test_drawing_twice_gives_the_same_bytes_without_a_date():
    with style():
        figure, axes = new_figure(1, 1)
        axes[0, 0].plot([0, 1], [0, 1])

    first, second = figure_bytes(figure), figure_bytes(figure)

    digests = [hashlib.sha256(b"".join(each)).hexdigest() for each in (first, second)]
    assert digests[0] == digests[1]
    assert b"dc:date" not in first[0]
    assert first[1].startswith(b"\x89PNG")


def test_no_text_is_read_as_a_formula():
    import matplotlib.text

    with style():
        figure, axes = new_figure(1, 1)
        axes[0, 0].set(title=r"loss $\frac$", xlabel="Prices $5 to $10")
        axes[0, 0].set_yticks([0], ["$a$"])
        axes[0, 0].plot([0, 1], [0, 1], label="$b$")
        axes[0, 0].legend()

    assert figure_bytes(figure)
    assert not any(text.get_parse_math() for text in figure.findobj(matplotlib.text.Text))


@pytest.mark.parametrize("width", WIDTHS)
def test_text_is_legible_in_print(width):
    import matplotlib.text

    with style():
        figure, axes = new_figure(1, 1, width=width)
        axes[0, 0].set(xlabel="x", ylabel="y", title="title")
        axes[0, 0].plot([0, 1], [0, 1], label="a")
        axes[0, 0].legend()

    sizes = [text.get_fontsize() for text in figure.findobj(matplotlib.text.Text)]
    assert min(sizes) >= SMALLEST_POINTS
    assert figure.get_figwidth() == WIDTHS[width]


def test_large_and_small_differ_in_colour():
    assert len({PALETTE[name] for name in ("large", "small", "deduplicated", "pruned")}) == 4
