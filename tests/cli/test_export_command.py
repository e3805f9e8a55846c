import json
import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from exportedrun import two_parts, uid

from clipaudit.cli.export import export
from clipaudit.cli.options import Group

group = Group(commands=[export])


@pytest.fixture
def run(tmp_path):
    return two_parts(tmp_path)


def ask(run, *arguments):
    folders = ("--results", str(run.results), "--store", str(run.store.root))
    return CliRunner().invoke(group, ["export", *map(str, arguments), *folders])


def test_help_has_an_example():
    assert "Example:" in export.help


FORMATS = ["datacomp", "uids", "parquet", "croissant", "fiftyone", "imagefolder", "hf-parquet"]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_reports_its_output_on_standard_error(run, form):
    output = run.folder / "out"

    answer = ask(run, "large/pruned", "--format", form, "--output", output)

    assert (answer.exit_code, answer.stdout) == (0, "")
    assert answer.stderr == f"{output}: 3 rows of large/pruned\n"
    assert output.exists()


def test_datacomp_is_an_array_that_numpy_reads(run):
    output = run.folder / "kept.npy"

    ask(run, "large/all", "--format", "datacomp", "--output", output)

    assert np.load(output)["f0"].tolist() == [4, 5, 7, 8, 9]


def test_all_rows_include_the_removed_ones(run):
    output = run.folder / "rows.parquet"

    ask(run, "large/pruned", "--format", "parquet", "--all-rows", "--output", output)

    assert pq.read_table(output)["kept"].to_pylist() == [True, False, True, False, False, True]


def test_no_pictures_leaves_the_folder_of_images_empty(run):
    output = run.folder / "dataset"

    ask(run, "large/all", "--format", "fiftyone", "--no-pictures", "--output", output)

    assert list((output / "data").iterdir()) == []
    paths = [
        each["filepath"] for each in json.loads((output / "samples.json").read_text())["samples"]
    ]
    assert paths[0] == f"data/00/{uid(9)}.png"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["large/purned", "--format", "uids"], 1, "Did you mean large/pruned"),
        (["large/all", "--format", "uids", "--all-rows"], 2, "uids holds only the kept samples"),
        (
            ["large/all", "--format", "parquet", "--no-pictures"],
            2,
            "only for fiftyone, not for parquet",
        ),
        (
            ["large/all", "--format", "imagefolder", "--all-rows"],
            2,
            "imagefolder holds only the kept",
        ),
        (
            ["large/all", "--format", "uids", "--license", "CC0"],
            2,
            "only for croissant, not for uids",
        ),
        (["large/all", "--format", "uids", "--vectors"], 2, "uids has no columns of vectors"),
        (["large/all", "--format", "csv"], 2, "'csv' is not one of 'datacomp', 'uids'"),
        (["large/all"], 2, "Missing option '--format'"),
    ],
)
def test_an_impossible_export_is_one_message(run, arguments, code, message):
    answer = ask(run, *arguments, "--output", run.folder / "out")

    assert answer.exit_code == code
    assert message in answer.output
    assert "Traceback" not in answer.output
    assert not (run.folder / "out").exists()


def test_an_output_that_exists_is_kept_without_force(run):
    output = run.folder / "out"
    output.write_text("mine")

    refused = ask(run, "large/all", "--format", "uids", "--output", output)

    assert (refused.exit_code, output.read_text()) == (1, "mine")
    assert "exists. Name another output, or replace it with --force." in refused.stderr


def test_an_output_in_a_missing_folder_is_one_message(run):
    answer = ask(run, "large/all", "--format", "uids", "--output", run.folder / "gone" / "out")

    assert answer.exit_code == 1
    assert "gone/out: cannot be written (No such file or directory)" in answer.stderr


@pytest.mark.parametrize("name", ["/dev/stdout", "pipe"])
def test_no_file_replaces_a_device_or_a_pipe(run, name):
    os.mkfifo(run.folder / "pipe")
    output = run.folder / name

    answer = ask(run, "large/all", "--format", "uids", "--output", output)  # --force would harm

    assert answer.exit_code == 2
    assert f"{output} is no file, and a file would replace it. Name a file." in answer.stderr


def test_help_imports_nothing_heavy():
    program = (
        "import sys\nfrom clipaudit.cli.export import export\n"
        "export(['--help'], standalone_mode=False)\n"
        "print(sorted({'torch', 'pyarrow', 'duckdb', 'numpy', 'pydantic'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "[]", done.stderr
