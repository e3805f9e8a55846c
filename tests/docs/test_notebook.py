"""Run docs/notebooks/clipart.py as a program: on clip art if present, else on made drawings."""

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs/notebooks/clipart.py"
REAL = ROOT / "data/clipart"


def sample(rng, kind, shade):
    """The files of a drawing: one of five backgrounds, its own shape and a text."""
    image = Image.new("RGB", (96, 96), [(250, 90, 90), (90, 250, 90), (90, 90, 250)][kind])
    x, y = rng.integers(5, 50, 2).tolist()
    ImageDraw.Draw(image).ellipse((x, y, x + 40, y + 30), (shade, 255 - shade, shade // 2))
    out = io.BytesIO()
    image.save(out, "PNG")
    name = ["apple", "leaf", "sea"][kind]
    about = {"keywords": [name, f"shade {shade // 64}"], "text": [f"{name} {shade}"]}
    return {"png": out.getvalue(), "txt": f"an {name} {shade}".encode(), "json": about}


def write(path, samples):
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w") as tar:
        for number, files in enumerate(samples):
            for ending, content in files.items():
                content = content if isinstance(content, bytes) else json.dumps(content).encode()
                member = tarfile.TarInfo(f"{number:04d}.{ending}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))


@pytest.fixture(scope="module")
def drawings(tmp_path_factory):
    """A folder of 150 training drawings and 20 test drawings, half of these copies."""
    if REAL.exists():
        return REAL
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("drawings")
    drawn = [sample(rng, number % 3, number) for number in range(160)]
    write(folder / "web/00000.tar", drawn[:150])
    write(folder / "test/00000.tar", drawn[140:])
    return folder


@pytest.fixture(scope="module")
def run(drawings, tmp_path_factory):
    figures = tmp_path_factory.mktemp("figures")
    settings = {"CLIPART": str(drawings), "FIGURES": str(figures), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", NOTEBOOK],
        env={**os.environ, **settings, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, figures


def test_the_notebook_answers_each_question(run):
    printed, _ = run

    for said in ("training images,", "above 0.99", "images stay;", "captions repeat", "prg "):
        assert said in printed


@pytest.mark.skipif(REAL.exists(), reason="clip art is another corpus")
def test_the_copies_among_the_drawings_are_found(run):
    printed, _ = run

    assert "150 training images, 20 test images" in printed
    assert int(printed.split(" of 20 test images")[0].split()[-1]) >= 10
    assert "150 images state text; 150 captions repeat a word of it" in printed


def test_the_notebook_shows_the_figures_that_it_saves(run):
    _, figures = run
    text = NOTEBOOK.read_text()

    saved = {path.name for path in figures.glob("*.png")}

    assert len(saved) == 5
    assert all(f"](../pictures/{name})" in text for name in saved)
    assert all((ROOT / "docs/pictures" / name).exists() for name in saved)


def test_the_notebook_has_about_twenty_cells():
    assert 18 <= NOTEBOOK.read_text().count("\n# %%") <= 30
