import json
import subprocess
import sys

import pytest
import yaml
from click.testing import CliRunner
from tinyclip import write_shard

from clipaudit.cli.imports import imports
from clipaudit.cli.options import Group

group = Group(commands=[imports])


def ask(*arguments):
    return CliRunner().invoke(group, ["import", *map(str, arguments)])


@pytest.fixture
def photos(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/a.jpg").write_bytes(b"picture")
    return tmp_path / "photos"


@pytest.mark.parametrize("name", imports.commands)
def test_every_importer_has_help_and_an_example(name):
    assert "Example:" in imports.commands[name].help


def test_the_block_is_printed_and_counts_go_to_standard_error(photos, tmp_path):
    lists = tmp_path / "lists"

    answer = ask("folder", photos, "--name", "photos", "--lists", lists)

    block = {"shards": f"{lists}/00000.images", "shards_per_part": 1, "captions": "none"}
    assert yaml.safe_load(answer.stdout) == {"corpora": {"photos": block}}
    assert answer.stderr.startswith("1 image in 1 list, 0 with a caption\nshards_per_part: 1, ")


def test_images_of_aro_are_not_mistaken_for_a_folder_of_images(photos, tmp_path):
    (tmp_path / "cases.json").write_text("[]")

    answer = ask("aro", photos, "--annotations", tmp_path / "cases.json", "--name", "relation")

    assert answer.stderr.rstrip().endswith("visual_genome_attribution.json or its order cases.")


def test_the_block_is_added_to_a_file(photos, tmp_path):
    asked = ("folder", photos, "--name", "photos", "--lists", tmp_path / "lists")

    answer = ask(*asked, "--output", tmp_path / "my.yaml")

    assert answer.stdout == ""
    assert f"{tmp_path}/my.yaml: corpora.photos\nNo audit uses corpora.photos yet." in answer.stderr
    assert list(yaml.safe_load((tmp_path / "my.yaml").read_text())["corpora"]) == ["photos"]


def test_lists_are_in_data_unless_another_folder_is_given(photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    block = yaml.safe_load(ask("folder", photos, "--name", "photos").stdout)["corpora"]["photos"]

    assert block["shards"] == "data/photos/00000.images"
    assert (tmp_path / block["shards"]).is_file()


def test_a_second_set_of_the_same_classes_shares_the_label_set(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "cats").mkdir(parents=True)
        (tmp_path / name / "cats/a.jpg").write_bytes(b"picture")
        asked = ("folder", tmp_path / name, "--name", name, "--classes", "--lists")
        answer = ask(*asked, tmp_path / f"{name}-lists", "--output", tmp_path / "my.yaml")

    content = yaml.safe_load((tmp_path / "my.yaml").read_text())
    assert f"label_sets.one has the same 1 classes: used\n{tmp_path}/my.yaml: corpora.two\n" in (
        answer.stderr
    )
    assert list(content["label_sets"]) == ["one"]
    assert content["corpora"]["two"]["labels"] == "one"


def test_wrong_data_is_one_message(photos):
    answer = ask("img2dataset", photos, "--name", "web")

    assert answer.exit_code == 1
    assert answer.stderr.startswith(f"Error: {photos}: no tar of img2dataset")
    assert answer.stderr.endswith(f"{photos} looks like data for `clipaudit import folder`.\n")


def test_tars_of_another_tool_are_read_and_reported(tmp_path):
    shard = write_shard(tmp_path / "0.tar", [{"jpg": b"picture"}])
    (tmp_path / "0_stats.json").write_text("{}")

    answer = ask("tars", tmp_path, "--name", "web")

    assert yaml.safe_load(answer.stdout)["corpora"]["web"]["shards"] == str(shard)
    assert f"{tmp_path} looks like data for `clipaudit import img2dataset`." in answer.stderr


def test_help_imports_nothing_heavy():
    program = (
        "import sys\nfrom clipaudit.cli.imports import imports\n"
        "imports(['folder', '--help'], standalone_mode=False)\n"
        "print(sorted({'torch', 'pyarrow', 'duckdb', 'numpy', 'pydantic'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_a_corpus_is_either_named_or_written(tmp_path):
    asked = ("clip-retrieval", tmp_path, "--name", "web-b32", "--encoder", "b32")

    for more in ((), ("--corpus", "web", "--as-corpus", "web")):
        answer = ask(*asked, *more)

        assert answer.exit_code == 2
        assert "give either --corpus, for a corpus with images, or --as-corpus" in answer.stderr


def test_documents_of_mmc4_become_lists_and_the_next_commands(tmp_path):
    (tmp_path / "docs").mkdir()
    info = {"raw_url": "http://a.org/cat.jpg", "matched_text_index": 0}
    document = {"text_list": ["A cat."], "image_info": [info]}
    (tmp_path / "docs/0.jsonl").write_text(json.dumps(document))

    answer = ask("mmc4", tmp_path / "docs", "--lists", tmp_path / "lists")

    assert answer.exit_code == 0
    assert answer.stdout.startswith("1 image of 1 document, in 1 list\n")
    assert f"img2dataset --url_list {tmp_path}/lists --input_format parquet" in answer.stdout
    assert [path.name for path in (tmp_path / "lists").iterdir()] == ["0.parquet"]
