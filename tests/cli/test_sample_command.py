import json

import pytest
from catalogcases import make_catalog
from catalogcases import sample as sample_row
from click.testing import CliRunner

from clipaudit.cli.options import Group
from clipaudit.cli.sample import sample

SAMPLES = ("samples", {"corpus": "large"}, [sample_row(0, 0), sample_row(1, 0)])


@pytest.fixture
def run(tmp_path):
    results = str(make_catalog(tmp_path, SAMPLES))

    def run(*arguments):
        command = ["sample", "--results", results, *arguments]
        return CliRunner().invoke(Group(commands=[sample]), command)

    return run


def test_help_has_an_example():
    assert "Example:" in sample.help


def test_a_sample_is_printed_as_text(run):
    answer = run("large", "1:0")

    assert answer.output.splitlines()[0] == "sample    large 1:0"


def test_json_is_the_fate_of_the_sample(run):
    answer = run("large", "1:0", "--format", "json")

    assert json.loads(answer.output)["sample"]["shard"] == 1


def test_a_page_is_complete_without_its_image(run, tmp_path):
    answer = run("large", "1:0", "--output", str(tmp_path / "sample.html"))

    assert answer.exit_code == 0
    assert answer.output.startswith("No image: shard 1: no such file.")
    assert "image not found" in (tmp_path / "sample.html").read_text()


def test_an_unwanted_image_is_not_looked_up(run):
    answer = run("large", "1:0", "--format", "html", "--no-picture")

    assert answer.output.startswith("<!doctype html>")
    assert "image not shown" in answer.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lrage", "1:0"], "Error: no corpus 'lrage' in the catalog. Did you mean large?"),
        (["large", "00001"], "Error: large: no sample '00001'. Did you mean 000000?"),
        (["large", "7:0"], "Error: large: no sample '7:0'. Its shards are 0 to "),
        (["large", "0:70"], "Error: large: no sample '0:70'. Rows of its shard 0 are 0 to "),
        (["large", "000000"], "Error: large: several samples are called '000000'"),
    ],
)
def test_an_unknown_name_is_one_message(run, arguments, message):
    answer = run(*arguments)

    assert answer.exit_code == 1
    assert message in answer.output


def test_a_test_image_that_no_table_has_is_left_out_of_the_page(tmp_path):
    near = {"shard": 1, "row": 0, "testset": "val", "similarity": 0.75}
    similarities = ("similarities", {"corpus": "large", "encoder": "own"}, [near])
    results = str(make_catalog(tmp_path, SAMPLES, similarities))
    command = ["sample", "--results", results, "large", "1:0", "--format", "html", "--no-picture"]

    answer = CliRunner().invoke(Group(commands=[sample]), command)

    assert (answer.exit_code, answer.output.count("<figure")) == (0, 1)
