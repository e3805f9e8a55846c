"""The data that `clipaudit audit` accepts, and the settings that it writes."""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner
from PIL import Image

from clipaudit.cli.audit import LOCK, _answer
from clipaudit.cli.commands import commands
from clipaudit.config.loading import parse_settings
from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.parts import expand_shards
from clipaudit.corpora.samples import index_shards
from clipaudit.errors import InputError
from clipaudit.imports.asked_data import find_corpora, settings_text
from clipaudit.imports.asked_encoder import encoder_sections
from clipaudit.store.locks import alone


def png():
    out = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(out, "PNG")
    return out.getvalue()


def write_tar(path, *members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


@pytest.fixture
def data(tmp_path):
    """Write two tars with captions, one without, and a folder of images."""
    for number in range(2):
        write_tar(tmp_path / f"web/{number:05d}.tar", ("0.png", png()), ("0.txt", b"a red square"))
    write_tar(tmp_path / "bare/00000.tar", ("0.png", png()))
    (tmp_path / "pictures/cats").mkdir(parents=True)
    (tmp_path / "pictures/cats/one.png").write_bytes(png())
    return tmp_path


def settings(data, arguments, against=(), **options):
    paths = [[str(data / each) for each in some] for some in (arguments, against)]
    corpora = find_corpora(*paths, data / "audit")
    return yaml.safe_load(settings_text(corpora, **options))


@pytest.mark.parametrize(
    "arguments", [["web"], ["web/{00000..00001}.tar"], ["web/00000.tar", "web/00001.tar"]]
)
def test_tars_can_be_named_in_any_form(data, arguments):
    found = settings(data, arguments)

    assert found["corpora"]["train"]["shards"] == f"{data}/web/{{00000..00001}}.tar"
    assert parse_settings(found).section


def test_a_pattern_may_be_longer_than_a_name(data):
    numbers = [f"{number:05d}" for number in range(60)]
    for number in numbers:
        write_tar(data / f"web/{number}.tar", ("0.png", png()))

    pattern = f"web/{{{','.join(numbers)}}}.tar"

    assert len(expand_shards(settings(data, [pattern])["corpora"]["train"]["shards"])) == 60
    with pytest.raises(InputError, match=r"1 of 61 shards are missing, first .*web/gone\.tar"):
        settings(data, [pattern.replace("}", ",gone}")])


@pytest.mark.parametrize(
    ("tars", "size", "parts"),
    [(8, 1, 8), (9, 0, 1), (9, 1, 1), (64, 1, 2), (9, 40, 9), (64, 10, 16)],
)
def test_many_small_tars_share_a_part(data, tars, size, parts):
    for number in range(tars):
        path = data / f"many/{number:05d}.tar"
        write_tar(path, ("0.png", png()))
        os.truncate(path, size * 1_000_000 or path.stat().st_size)
    found = parse_settings(settings(data, ["many"]))

    assert len(found.parts("train")) == parts


def test_captions_decide_which_audits_run(data):
    assert {"copies", "parrot"} <= set(settings(data, ["web"]))
    assert "parrot" not in settings(data, ["bare"])
    assert "parrot" not in settings(data, ["web"], reads_text=False)


def test_an_empty_first_tar_does_not_hide_the_captions_of_the_next(data):
    write_tar(data / "web/00000.tar")

    assert settings(data, ["web"])["corpora"]["train"]["captions"] == "text"


@pytest.mark.parametrize("corpora", [(["odd.tar"], ["bare"]), (["web"], ["odd.tar"])])
@pytest.mark.parametrize(
    ("member", "found"),
    [("n01440764.tar", r"only \.tar in 1 sample tried"), ("batch", "no samples")],
)
def test_tars_without_images_are_refused(data, corpora, member, found):
    write_tar(data / "odd.tar", (member, b"content"))

    with pytest.raises(InputError, match=rf"odd\.tar: no images \(\.jpg, .*\): {found}\. Name"):
        settings(data, *corpora)


def test_a_field_that_may_hold_the_captions_is_named(data):
    (data / "pictures/cats/one.json").write_text('{"blurb": "a red square"}')
    said = []
    find_corpora([str(data / "pictures")], [], data / "audit", say=said.append)

    assert said[-1] == (
        "captions are not audited: the first samples have none; texts are in: blurb. "
        "--caption FIELD takes one"
    )


def test_test_sets_are_named_after_their_folder_or_file(data):
    found = settings(data, ["web"], ["bare/00000.tar", "bare", "pictures"], sample=5)

    assert list(found["corpora"]) == ["train", "bare", "bare-2", "pictures"]
    assert found["copies"] == {
        "train": "train", "test_sets": ["bare", "bare-2", "pictures"], "sample": 5,
    }  # fmt: skip


def test_images_in_a_folder_are_listed_not_copied(data):
    found = settings(data, ["pictures"])

    (path,) = (data / "audit/lists").glob("*/*.images")
    assert found["corpora"]["train"]["shards"] == str(path)
    assert "one.png" in path.read_text()


@pytest.mark.parametrize("absolute", [False, True])
def test_a_table_names_its_images_and_their_captions_as_for_open_clip(data, absolute):
    place = f"{data}/" if absolute else ""
    rows = (f"{place}pictures/cats/one.png\ta red square", f"{place}gone.png\tgone")
    (data / "pairs.csv").write_text("\n".join(["filepath\ttitle", *rows]))
    said = []
    found = find_corpora([f"{data}/pairs.csv"], [], data / "audit", say=said.append)["train"]

    assert (found["captions"], found["caption_field"]) == ("text", "title")
    shards = [(0, Path(found["shards"]))]
    captioning = Captioning("text", field="title")
    samples, _ = index_shards(shards, captioning, needs_caption=True, needs_label=False)
    assert samples["caption"].to_pylist() == ["a red square"]
    assert f"{data}/pairs.csv: 1 row of tables without an image, first {data}/gone.png" in said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("blip.json", '[{"image": "pictures/cats/one.png", "caption": ["a", "b"]}]'),
        ("results.token", "pictures/cats/one.png#0\ta\npictures/cats/one.png#1\tb\n"),
    ],
)
def test_lists_of_objects_and_flickrs_captions_are_tables_too(data, name, text):
    (data / name).write_text(text)
    found = settings(data, [name])["corpora"]["train"]

    assert (found["captions"], found["caption_field"]) == ("texts", "caption")
    (row,) = map(json.loads, Path(found["shards"]).read_text().splitlines()[1:])
    assert row["json"] == {"caption": ["a", "b"]}


def test_a_parquet_file_of_paths_is_a_table(data):
    columns = {"filepath": ["pictures/cats/one.png"] * 2, "title": ["a", "b"], "score": [0.5, None]}
    pq.write_table(pa.table(columns), data / "pairs.parquet")
    found = settings(data, [f"{data}/pairs.parquet"])["corpora"]["train"]

    assert (found["captions"], found["caption_field"]) == ("texts", "title")
    (row,) = map(json.loads, Path(found["shards"]).read_text().splitlines()[1:])
    assert row["json"] == {"title": ["a", "b"], "score": 0.5}


def test_a_parquet_file_of_images_with_their_names_is_no_table(data):
    pq.write_table(pa.table({"jpg": [png()], "file_name": ["7.png"]}), data / "own.parquet")

    assert settings(data, ["own.parquet"])["corpora"]["train"]["shards"] == f"{data}/own.parquet"


def test_a_table_with_images_of_another_folder_has_other_lists(data):
    (data / "pairs.csv").write_text("image\npictures/cats/one.png\n")
    first = settings(data, ["pairs.csv"])["corpora"]["train"]["shards"]
    (data / "two.png").write_bytes(png())
    (data / "pairs.csv").write_text("image\npictures/cats/one.png\ntwo.png\n")

    found = settings(data, ["web"], ["pairs.csv"])["corpora"]

    assert list(found) == ["train", "pairs"]
    assert found["pairs"]["shards"] != first


def test_parquet_files_are_read_with_their_text_column(data):
    table = pa.table({"image": [png()], "prompt": ["a red square"], "id": ["7"]})
    pq.write_table(table, data / "pictures/0.parquet")
    pq.write_table(table, data / "pictures/1.parquet")
    found = settings(data, ["pictures"])["corpora"]["train"]

    assert found["shards"] == f"{data}/pictures/{{0..1}}.parquet"
    assert (found["captions"], found["caption_field"]) == ("text", "prompt")


def test_the_column_txt_of_a_converted_webdataset_is_read(data):
    table = pa.table({"jpg": [png()], "txt": ["a red square"], "__key__": ["0"]})
    pq.write_table(table, data / "pictures/0.parquet")
    pq.write_table(table, data / "pictures/1.parquet")
    shards = [(0, data / "pictures/0.parquet")]

    found = settings(data, ["pictures"])["corpora"]["train"]

    captioning = Captioning(found["captions"], field=found["caption_field"])
    samples, _ = index_shards(shards, captioning, needs_caption=True, needs_label=False)
    assert samples["caption"].to_pylist() == ["a red square"]


@pytest.mark.parametrize("name", ["captions", "caption", "sentences"])
def test_lists_of_captions_are_read_as_several_captions(data, name):
    (data / "table").mkdir()
    table = {"image": [png()] * 2, name: [["a cat", "a red cat"], [None, "a dog"]]}
    pq.write_table(pa.table(table), data / "table/0.parquet")

    said = []
    found = find_corpora([f"{data}/table"], [], data / "audit", say=said.append)["train"]

    assert f"images have several captions, in {name}: the first of each is audited" in said
    assert found["captions"] == "texts"
    assert found.get("caption_field", "captions") == name
    assert found["may_lack_captions"]


def test_other_files_in_a_folder_of_images_are_reported(data):
    (data / "pictures/cats/two.gif").write_bytes(b"")
    said = []
    find_corpora([str(data / "pictures")], [], data / "audit", say=said.append)

    assert said == [
        f"{data}/pictures: 1 image in 1 list, 0 with a caption",
        f"{data}/pictures: other files were left out: 1 .gif",
        "captions are not audited: the first samples have none",
    ]


def test_a_linked_folder_among_tars_is_reported(data):
    (data / "web/more").symlink_to(data / "bare")
    said = []
    find_corpora([str(data / "web")], [], data / "audit", say=said.append)

    (note,) = said
    assert note.startswith(f"1 linked folder not followed, first {data}/web/more;")


def test_files_beside_tars_that_are_not_read_are_reported(data):
    for name in ("1.TAR", "2.tar.zst", "3.jpg", "4.parquet", "00000_stats.json"):
        (data / "web" / name).write_bytes(b"")
    said = []
    find_corpora([str(data / "web")], [], data / "audit", say=said.append)

    assert said == [f"{data}/web: other files were left out: 1 .TAR, 1 .jpg, 1 .zst"]


def test_all_unreadable_tars_of_a_folder_are_named_at_once(data):
    (data / "web/1.tar").write_bytes(b"")
    (data / "web/2.tar").write_bytes(b"<html>" * 200)
    named = r"1\.tar: not a readable tar: .*\n.*2\.tar: not a readable tar: .*\n"

    with pytest.raises(InputError, match=named + "Fetch or write 2 files of 4 again, or move"):
        find_corpora([str(data / "web")], [], data / "audit")


def test_a_field_without_texts_is_refused(data):
    corpora = [str(data / "web")], [], data / "audit"

    with pytest.raises(
        InputError, match=r"--caption alt: no text in it .* texts are in: \.txt\. A"
    ):
        find_corpora(*corpora, caption="alt")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("gone", "gone does not exist. Correct the path."),
        ("wbe", r"wbe does not exist\. Did you mean .*/web\?"),
        ("pictures/cats/one.png", r"one\.png: a single image\. Name the folder .*/pictures/cats\."),
        ("list.txt", r"list\.txt: not a file that is read, which ends in \.tar, .*\.images\."),
        ("paths.csv", r"paths\.csv: names no image .* of 1 name the first is .*/one\.png\. Write"),
        ("ids.json", r"ids\.json: no table of images\. It may be COCO's captions, Karpathy's spl"),
        ("ids.csv", r"ids\.csv: 1 row, none of which names an image: the first has id, but"),
        ("page.tar", "page.tar: not a readable tar"),
        ("web/{00000..00002}.tar", "1 of 3 shards are missing, first .*00002"),
    ],
)
@pytest.mark.parametrize("against", [False, True])
def test_files_without_data_are_refused_before_anything_is_written(
    data, argument, message, against
):
    (data / "paths.csv").write_text("path\none.png\n")
    (data / "ids.csv").write_text("id\n7\n")
    (data / "ids.json").write_text('{"ids": [7]}')
    (data / "list.txt").write_text("one.png\n")
    (data / "page.tar").write_bytes(b"<html>" * 200)

    with pytest.raises(InputError, match=message):
        settings(data, ["pictures", *([] if against else [argument])], [argument] * against)

    assert not (data / "audit").exists()


@pytest.mark.parametrize("other", ["pictures/inner", "link", "cats.csv"])
def test_images_of_a_folder_and_of_one_within_it_are_not_called_repeats(data, other):
    (data / "pictures/inner").mkdir()
    shutil.copy(next((data / "pictures").rglob("*.png")), data / "pictures/inner/x.png")
    (data / "link").symlink_to(data / "pictures")
    (data / "cats.csv").write_text("image\npictures/cats/one.png\n")

    with pytest.raises(InputError, match=r"both in DATA, and one contains the other or links"):
        settings(data, ["pictures", other])


def test_a_tar_and_a_link_to_it_are_not_both_read(data):
    (data / "again.tar").symlink_to(data / "web/00001.tar")

    with pytest.raises(InputError, match=r"again\.tar and .*web: both in DATA, and one contains"):
        settings(data, ["web", "again.tar"])
    assert settings(data, ["web", "web/00001.tar"])["corpora"] == settings(data, ["web"])["corpora"]


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("web", "web/00000.tar"),
        ("web/{00000..00001}.tar", "again"),
        ("pictures", "pictures/cats"),
        ("pictures/cats", "pictures"),
        ("pairs.csv", "pairs.csv"),
        ("pictures", "pairs.csv"),
    ],
)
def test_a_test_set_among_the_training_data_is_refused(data, train, test):
    (data / "pairs.csv").write_text("image\npictures/cats/one.png\n")
    (data / "again").mkdir()
    (data / "again/0.tar").symlink_to(data / "web/00001.tar")

    with pytest.raises(InputError, match=r": in DATA and in --against, so each of its images"):
        settings(data, ["bare", train], [test])
    assert not (data / "audit").exists()


def test_two_tables_of_images_in_one_folder_are_compared(data):
    (data / "pictures/cats/two.png").write_bytes(png())
    for name in ("one", "two"):
        (data / f"{name}.csv").write_text(f"image\npictures/cats/{name}.png\n")

    assert set(settings(data, ["one.csv"], ["two.csv"])["corpora"]) == {"train", "two"}


def test_a_folder_that_contains_the_output_is_not_read(data):
    with pytest.raises(InputError, match=r"contains .*audit, which is written while it is read"):
        settings(data, ["web"], ["."])


def test_an_output_folder_whose_name_is_not_utf_8_is_refused(data, monkeypatch):
    monkeypatch.chdir(data)

    done = CliRunner().invoke(commands, ["audit", "web", "--to", "out\udcff", "--plan"])

    assert (done.exit_code, "out\\udcff: is not UTF-8" in done.output) == (1, True)
    assert not Path("out\udcff").exists()


@pytest.mark.parametrize("arguments", [["web", ""], ["web", "--against", ""]])
def test_an_unset_variable_of_the_shell_is_named(data, monkeypatch, arguments):
    monkeypatch.chdir(data)

    done = CliRunner().invoke(commands, ["audit", *arguments, "--plan"])

    assert done.output.startswith("Error: an empty name is among DATA and --against.")


def test_an_output_folder_that_links_to_nothing_is_one_message(data, monkeypatch):
    monkeypatch.chdir(data)
    (data / "audit").symlink_to("scratch/gone")

    done = CliRunner().invoke(commands, ["audit", "web", "--plan"])

    assert done.output.startswith("Error: audit: a link to scratch/gone, which does not exist.")


def test_an_output_folder_that_cannot_be_made_is_one_message(data, monkeypatch):
    monkeypatch.chdir(data)

    for to, why in (("web/00000.tar/audit", "Not a directory"), ("x" * 300, "File name too long")):
        done = CliRunner().invoke(commands, ["audit", "web", "--plan", "--to", to])

        assert done.output == f"Error: {to}: cannot be made ({why}). Name another folder by --to.\n"


def test_a_removed_current_folder_is_one_message(data, monkeypatch):
    (data / "gone").mkdir()
    monkeypatch.chdir(data / "gone")
    (data / "gone").rmdir()

    done = CliRunner().invoke(commands, ["audit", str(data / "web"), "--to", str(data / "audit")])

    assert done.output.startswith("Error: the current folder was removed. Go to another one")


def test_an_error_is_one_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()

    done = CliRunner().invoke(commands, ["audit", "empty"])

    assert done.exit_code == 1
    assert done.output.startswith("Error: empty: no shards. Name a folder")
    assert done.output.endswith("also take a folder of images.\n")
    assert os.listdir(tmp_path) == ["empty"]  # no folder for results is left


@pytest.mark.parametrize("options", [[], ["--plan"]])
def test_a_settings_file_of_the_user_is_never_replaced(data, monkeypatch, options):
    monkeypatch.chdir(data)
    (data / "settings.yaml").write_text("mine: 1\n")

    done = CliRunner().invoke(commands, ["audit", "web", "--to", ".", *options])

    assert done.exit_code == 1
    assert done.output.startswith("Error: settings.yaml: would be replaced, and its first line")
    assert (data / "settings.yaml").read_text() == "mine: 1\n"


def test_the_settings_of_the_previous_call_give_the_order_of_the_shards(data):
    tars, path = [str(data / f"web/0000{number}.tar") for number in (1, 0)], data / "settings.yaml"
    path.write_text(settings_text(find_corpora(tars, [], data / "audit")))

    found = find_corpora(sorted(tars), [], data / "audit", settings=path)

    assert found["train"]["shards"] == tars


def test_the_export_printed_last_quotes_the_folder(tmp_path, monkeypatch, capsys):
    told = {"corpora": {}, "audits": {}, "drops": [], "manifests": ["train/without-copies"]}
    monkeypatch.setattr("clipaudit.site.told.read_told", lambda _: told)
    to = tmp_path / "my audit"
    to.mkdir()

    _answer(None, to, "text", 1.0)

    assert f"cd '{to}' && clipaudit export train/without" in capsys.readouterr().out


def test_planning_an_audit_with_an_encoder_of_open_clip_reports_no_leaks(data):
    asked = ["audit", "web", "--encoder", "ViT-B-32:openai", "--plan"]
    call = ["-c", "from clipaudit.cli import main; main()", *asked]

    done = subprocess.run([sys.executable, *call], cwd=data, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "leaked" not in done.stderr


@pytest.mark.parametrize("options", [[], ["--plan"]])
def test_a_second_audit_in_the_same_folder_is_refused(data, monkeypatch, options):
    monkeypatch.chdir(data)

    with alone(data / "audit" / LOCK):
        done = CliRunner().invoke(commands, ["audit", "web", *options])

    assert done.exit_code == 1
    assert done.output.startswith("Error: audit: another `clipaudit audit` is running in this")
    assert not os.listdir(data / "audit")


def test_the_answer_is_about_the_data_that_were_given(data, monkeypatch):
    monkeypatch.chdir(data)
    path, told = data / "audit/settings.yaml", []
    monkeypatch.setattr("clipaudit.cli.audit._compute", lambda *_: path.write_text("mine: 1"))
    monkeypatch.setattr("clipaudit.cli.audit._answer", lambda run, *_: told.append(run))

    done = CliRunner().invoke(commands, ["audit", "web", "--against", "bare"])

    assert done.exit_code == 0, done.output
    assert list(told[0].corpora) == ["train", "bare"]
    assert os.listdir(path.parent) == [path.name]  # the lock is released


@pytest.mark.parametrize("cores", ["0", "-1", "2.5", "abc", "²", ""])
@pytest.mark.parametrize("command", [["audit", "gone", "--plan"], ["run"]])
def test_cores_that_are_no_number_are_refused_before_anything_is_read(command, cores):
    done = CliRunner().invoke(commands, [*command, "--cores", cores])

    assert done.exit_code == 2
    assert f"{cores!r} is neither a whole number of 1 or more, nor all." in done.output


@pytest.mark.parametrize(
    ("asked", "encoder"),
    [
        ("ViT-B-32:openai", {"pretrained": "openai", "architecture": "encoder-ViT-B-32-openai"}),
        ("timm/resnet50", {"plugin": "timm", "options": {"model": "resnet50"}}),
        ("a/dinov2", {"plugin": "transformers", "options": {"checkpoint": "a/dinov2"}}),
    ],
)
def test_an_encoder_compares_images_and_sets_thresholds_by_calibration(data, asked, encoder):
    found = settings(data, ["web"], ["bare"], encoder=asked)

    ((name, section),) = found["encoders"].items()
    assert section == {**encoder, "title": asked}
    assert found["copies"]["encoders"] == [name]
    assert found["similarity"]["near_duplicate_distance"] == "calibrated"
    assert parse_settings(found).section


def test_model_folders_are_identified_by_their_files(data):
    for name, file in (("clip", "open_clip_config.json"), ("vit", "config.json"), ("none", "x")):
        (data / name).mkdir()
        (data / name / file).write_text("{}")

    assert encoder_sections(str(data / "clip"))["encoders"]["encoder-clip"]["directory"]
    assert encoder_sections(str(data / "vit"))["encoders"]["encoder-vit"]["plugin"]
    with pytest.raises(InputError, match=r"none: has neither open_clip_config\.json nor config"):
        encoder_sections(str(data / "none"))


def test_a_folder_of_timm_is_loaded_by_timm(data):
    (data / "dino").mkdir()
    (data / "dino/model.safetensors").write_bytes(b"")
    config = {"architecture": "resnet50", "pretrained_cfg": {"tag": "tv_in1k"}}
    (data / "dino/config.json").write_text(json.dumps(config))

    (section,) = encoder_sections(str(data / "dino"))["encoders"].values()

    checkpoint = str(data / "dino/model.safetensors")
    assert section["plugin"] == "timm"
    assert section["options"] == {"model": "resnet50.tv_in1k", "checkpoint": checkpoint}


def test_a_name_that_is_not_an_encoder_is_answered_with_the_choices():
    with pytest.raises(InputError, match=r"--encoder clip: neither a folder, .*Give one of these"):
        encoder_sections("clip")


def test_a_file_of_weights_without_an_architecture_is_answered_with_both_forms(data):
    (data / "sd.pt").write_bytes(b"")

    with pytest.raises(InputError, match=r"Give ARCHITECTURE:FILE, .* open_clip_config\.json"):
        encoder_sections(str(data / "sd.pt"))


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("tiny:sd.pt", r"has no model 'tiny'.* a folder with open_clip_config\.json"),
        ("ViT-B-32:ck/gone.pt", r"ck/gone\.pt: neither a file nor a tag of ViT-B-32"),
    ],
)
def test_what_open_clip_does_not_know_is_refused_before_anything_is_computed(data, asked, message):
    with pytest.raises(InputError, match=f"--encoder {asked}: .*{message}"):
        settings(data, ["web"], ["bare"], encoder=asked)
