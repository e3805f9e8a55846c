import json
import os
import re
import time
from pathlib import Path

import open_clip
import pytest

from clipaudit.config.loading import (
    check_architectures,
    check_files,
    check_splits,
    check_times,
    extended,
    json_schema,
    parse_settings,
    read_settings,
)
from clipaudit.errors import ConfigError
from clipaudit.runs.start import refuse_failures_of

ROOT = Path(__file__).parents[2]
START = {"recipe": "base", "manifest": "x"}


@pytest.fixture
def settings():
    return read_settings(ROOT / "config/demo.yaml")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_shipped_config_is_valid(path):
    assert parse_settings(read_settings(path)).corpora


def test_the_committed_schema_matches_the_models():
    """`make schema` writes it."""
    assert (ROOT / "config/schema.json").read_text() == json_schema()


def test_every_setting_has_a_description():
    schema = json.loads(json_schema())
    silent = [
        f"{model}.{name}"
        for model, content in {"Run": schema, **schema["$defs"]}.items()
        for name, field in content.get("properties", {}).items()
        if "description" not in field
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("place", "key", "message"),
    [
        ([], "similarty", "similarty is not a setting. Did you mean `similarity`?"),
        (["similarity"], "near_gapp", "near_gapp is not a setting. Did you mean `near_gap`?"),
        (["corpora", "large"], "shard", "large.shard is not a setting. Did you mean `shards`?"),
        (["recipes", "base"], "epoch", "base.epoch is not a setting. Did you mean `epochs`?"),
        (["worlds", "glyph"], "sid", "worlds.glyph.sid is not a setting. Did you mean `side`?"),
        (["label_sets", "symbols"], "zzz", "symbols.zzz is not a setting. Known names: "),
        ([], "shards_per_part", "part is not a setting. It belongs in corpora.NAME."),
        ([], "learning_rate", "learning_rate is not a setting. It belongs in recipes.NAME"),
    ],
)  # fmt: skip
def test_a_misspelt_key_is_refused_with_a_suggestion(settings, place, key, message):
    section = settings
    for name in place:
        section = section[name]
    section[key] = 1

    with pytest.raises(ConfigError) as refused:
        parse_settings(settings)
    assert message in str(refused.value)


def put(settings, value, *place):
    for name in place[:-1]:
        settings = settings[name]
    settings[place[-1]] = value


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["similarity", "large"], "x", "similarity.large: 'x' is not among corpora (a, album"),
        (["similarity", "encoder"], "x", "encoder: 'x' is not among encoders (own, reader, thumb"),
        (["similarity", "test_sets"], ["val", "val"], "test_sets: val, val; name each once"),
        (["similarity", "control_sets"], ["val"], "val: named twice among large, small"),
        (["similarity", "test_sets"], ["large"], "large: named twice"),
        (["corpora", "large", "shards"], [], "corpora.large.shards: the list of shards is empty"),
        (["corpora", "large", "shards"], ["a.tar"] * 2, "shards: 'a.tar' is in the list twice"),
        (["corpora", "large", "shards"], "else/{0..3}.tar", "is not data/glyph/large/<number>.tar"),
        (["corpora", "large", "shards"], "data/glyph/large/a.tar", "glyph/large/<number>.tar, whe"),
        (["corpora", "large", "shards"], "data/glyph/large/00001.tar",
         "00001.tar is at position 0, but the world `glyph` makes it as shard 1; list the shards"),
        (["corpora", "scenes", "labels"], "symbols",
         "corpora.scenes.labels: worlds.glyph.corpora.scenes.labelled is false; set it to true"),
        (["corpora", "small", "captions"], "text",
         "corpora.small.captions: text, but worlds.glyph.corpora.small.captioned is false"),
        (["corpora", "val", "labels"], None, "corpora.val: `classes` needs `labels`"),
        (["corpora", "small", "labels"], "x", "corpora.small.labels: 'x' is not among label_sets"),
        (["corpora", "a", "label_map"], {"to": "x", "classes": [0]},
         "corpora.a.label_map.to: 'x' is not among label_sets"),
        (["corpora", "a", "label_map"], {"to": "symbols", "classes": [0]},
         "`label_map` leads to symbols, so `labels` must name another label set"),
        (["recipes", "base", "epochs"], 0, "should be greater than or equal to 1 (given: 0)"),
        (["recipes", "base", "architecture"], "x", "'x' is not among architectures (tiny)"),
        (["encoders", "own"], {"model": "base/x"}, "own.model: 'x' is not among the manifests"),
        (["recipes", "base", "start_from"], START, "start_from: 'x' is not among the manifests"),
        (["recipes", "base", "start_from"], {"recipe": "base", "manifest": "large"},
         "recipes.base.start_from: base starts from base, so no model could be trained first"),
        (["corpora", "more"], {"shards": "data/glyph/more/0.tar", "world": "glyph"},
         "corpora.more.world: 'more' is not among worlds.glyph.corpora (a, album"),
        (["corpora", "large-deduplicated"], {"shards": "a.tar"},
         "similarity: it makes a manifest named large-deduplicated, a name that corpora has"),
        (["encoders", "own", "model"], "base/large-deduplicated",
         "similarity.encoder: own is trained on large-deduplicated, which it chooses itself; let"),
        (["corpora", "val", "classes"], [], "val.classes: Value should have at least 1 item"),
        (["corpora", "framed"], {"of": "val", "where": "true", "world": "glyph"},
         "`world` makes shards, and a split has those of its corpus; remove it"),
        (["similarity", "pairs"], {"x": {"small": "val", "test": "val"}}, "val is also `small`"),
        (["similarity", "evidence"], {"pruning": "val", "reference": "val"}, "is also `pruning`"),
        (["results"], "a{b}", "results: a{b} has a brace, which Snakemake takes for a wildcard"),
        (["results"], str(ROOT / "README.md"), "README.md is a file; name a folder"),
        (["store"], "a\0b", "store: 'a\\x00b' has a null character; name another folder"),
        (["store"], "results/", "store: results/ is also the folder of `results`"),
        (["store"], "", "store: String should have at least 1 character"),
        (["encoders", "own"], {}, "give exactly one of `model`, `pretrained`, `directory`"),
        (["label_sets", "symbols", "templates"], ["a photo"], "must hold `{}` exactly once"),
        (["label_sets", "symbols", "caption_template"], "{a} photo of {}", "needs exactly one {}"),
        (["similarity", "seeds"], 10**9, "should be less than or equal to 1000"),
        (["worlds", "glyph", "corpora", "large", "styles"], {"foto": 1}, "styles.foto"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_one_clear_error(settings, place, value, message):
    put(settings, value, *place)

    with pytest.raises(ConfigError) as refused:
        parse_settings(settings)
    assert message in str(refused.value)


def test_an_encoder_that_starts_from_a_set_that_it_chooses_is_refused(settings):
    start = {"recipe": "base", "manifest": "large-deduplicated"}
    settings["recipes"]["next"] = settings["recipes"]["base"] | {"start_from": start}
    settings["encoders"]["own"] = {"model": "next/large"}

    message = (
        "similarity.encoder: own is trained on large-deduplicated, which it chooses itself; let "
        "`recipes.next.start_from.manifest` name another set, such as large"
    )
    with pytest.raises(ConfigError, match=re.escape(message)):
        parse_settings(settings)


def test_a_tilde_in_a_folder_is_the_users_home(settings, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    settings |= {"results": "~/res", "store": "~/res/store"}

    run = parse_settings(settings)

    assert (run.results, run.store) == ("/home/ada/res", "/home/ada/res/store")


def test_a_duplicate_key_is_refused(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("corpora:\n  large: {shards: a.tar}\n  large: {shards: b.tar}\n")

    with pytest.raises(ConfigError) as refused:
        read_settings(path)
    message = str(refused.value)
    assert "run.yaml: cannot be read as YAML: 'large' occurs twice in one section" in message
    assert f'first in line 2\n  in "{path}", line 3' in message


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "a: !!python/object:os.system {}"])
def test_a_file_that_is_not_settings_is_refused(tmp_path, text):
    path = tmp_path / "run.yaml"
    path.write_text(text)

    with pytest.raises(ConfigError, match=r"run\.yaml"):
        read_settings(path)


def test_an_error_in_yaml_names_the_file(tmp_path):
    (tmp_path / "run.yaml").write_text("results: a\nstore: [")

    with pytest.raises(ConfigError, match=r'in ".*/run\.yaml", line 3') as refused:
        read_settings(tmp_path / "run.yaml")
    assert "unicode string" not in str(refused.value)


def test_an_empty_file_is_called_empty(tmp_path):
    (tmp_path / "run.yaml").write_text("# nothing yet\n")

    with pytest.raises(ConfigError, match=r"run\.yaml: is empty, expected settings\. `clipaudit i"):
        read_settings(tmp_path / "run.yaml")


def test_a_missing_file_to_extend_is_named_with_the_file_that_extends_it(tmp_path):
    (tmp_path / "run.yaml").write_text("extends: nope.yaml\n")

    with pytest.raises(ConfigError, match=r"run\.yaml: extends nope\.yaml, which does not exist\."):
        read_settings(tmp_path / "run.yaml")


def test_a_misspelt_file_to_extend_is_answered_with_a_similar_one(tmp_path):
    (tmp_path / "base.yaml").write_text("results: results\n")
    (tmp_path / "run.yaml").write_text(f"extends: {tmp_path}/bse.yaml\n")

    with pytest.raises(ConfigError, match=r"does not exist\. Did you mean .*/base\.yaml\?"):
        read_settings(tmp_path / "run.yaml")


def test_a_file_is_not_told_to_extend_itself(tmp_path):
    (tmp_path / "run2.yaml").write_text(f"extends: {tmp_path}/run.yaml\n")

    with pytest.raises(ConfigError, match=r"run\.yaml, which does not exist\. It is relative to"):
        read_settings(tmp_path / "run2.yaml")


@pytest.mark.parametrize("below", [["a.yaml", "b.yaml"], 5])
def test_settings_extend_one_file(below):
    with pytest.raises(ConfigError, match=r"extends: .* is no path; name one file"):
        extended({"extends": below})


def test_missing_files_are_listed_before_anything_runs(tmp_path, settings):
    put(settings, "gone/{0..12}.tar", "corpora", "large", "shards")
    put(settings, None, "corpora", "large", "world")
    put(settings, "classes.txt", "label_sets", "symbols", "classes")

    with pytest.raises(ConfigError) as refused:
        check_files(parse_settings(settings), root=tmp_path)
    message = str(refused.value)
    assert "14 files that the settings name do not exist" in message
    assert "corpora.large.shards: gone/0.tar" in message
    assert "and 4 more" in message


def test_a_tar_of_the_future_is_refused_before_a_run(tmp_path, settings, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    put(settings, "a.tar", "corpora", "large", "shards")
    put(settings, None, "corpora", "large", "world")
    Path("a.tar").touch()
    run = parse_settings(settings)
    check_times(run)

    os.utime("a.tar", times=(time.time() + 3600,) * 2)

    with pytest.raises(SystemExit):
        refuse_failures_of(run)
    assert "a.tar: last changed in the future, by this machine's clock" in capsys.readouterr().err


def test_a_missing_list_of_images_is_written_again_by_its_command(tmp_path, settings):
    put(settings, "lists/00000.images", "corpora", "large", "shards")
    put(settings, None, "corpora", "large", "world")

    with pytest.raises(ConfigError, match=r"written again by .* `clipaudit audit` \(with --to"):
        check_files(parse_settings(settings), root=tmp_path)


def test_files_that_a_world_generates_need_not_exist(tmp_path, settings):
    check_files(parse_settings(settings), root=tmp_path)


def test_weights_of_a_defined_architecture_are_a_file(tmp_path):
    (tmp_path / "0.tar").touch()
    settings = {
        "corpora": {"web": {"shards": "0.tar"}},
        "architectures": {
            "own": {"definition": {"embed_dim": 8}},
            "b32": {"open_clip": "ViT-B-32"},
        },
        "encoders": {
            "mine": {"architecture": "own", "pretrained": "none.pt"},
            "openai": {"architecture": "b32", "pretrained": "openai"},
        },
    }

    with pytest.raises(ConfigError, match=r"^1 file .*\s+encoders\.mine\.pretrained: none\.pt"):
        check_files(parse_settings(settings), root=tmp_path)


def test_a_missing_label_map_is_a_missing_file(settings, tmp_path):
    settings["label_sets"]["own"] = {"classes": "own.txt"}
    settings["corpora"]["a"] |= {"labels": "own"}
    settings["corpora"]["a"]["label_map"] = {"to": "symbols", "classes": "map.txt"}
    (tmp_path / "own.txt").touch()

    with pytest.raises(ConfigError, match=r"corpora\.a\.label_map\.classes.*map\.txt"):
        check_files(parse_settings(settings), root=tmp_path)


def check_shards(folder, shards):
    check_files(parse_settings({"corpora": {"web": {"shards": shards}}}), root=folder)


def test_one_missing_file_is_counted_in_the_singular(tmp_path):
    with pytest.raises(ConfigError, match=r"^1 file that the settings name does not exist:"):
        check_shards(tmp_path, "gone.tar")


def test_a_folder_of_shards_is_answered_with_the_pattern_to_write(tmp_path):
    (tmp_path / "my web").mkdir()

    with pytest.raises(ConfigError) as refused:
        check_shards(tmp_path, "my web/")

    message = str(refused.value)
    assert message.startswith("corpora.web.shards: my web/ is a folder, expected its files.")
    assert "such as my web/{00000..00041}.tar; `clipaudit import tars 'my web/' --name" in message


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("learning_rate", float("inf"), "base.learning_rate: Input should be a finite number"),
        ("logit_scale", float("nan"), "base.logit_scale.*: Input should be a finite number"),
        ("epochs", True, "base: epochs: expected a number or a text, found true"),
    ],
)
def test_what_is_not_a_finite_number_is_refused_as_one(settings, place, value, message):
    settings["recipes"]["base"][place] = value

    with pytest.raises(ConfigError, match=message):
        parse_settings(settings)


def test_missing_models_and_names_of_objects_are_missing_files(tmp_path):
    settings = read_settings(ROOT / "config/micro_memorization.yaml")
    settings["architectures"]["b32"] = {"open_clip": "ViT-B-32"}
    settings["encoders"] |= {
        "folder": {"directory": "no_model"},
        "weights": {"architecture": "b32", "pretrained": "gone/b32.pt"},
    }
    settings["classifiers"] = {"resnet": {"model": "resnet18", "checkpoint": "gone.pt"}}
    settings["memorization"]["objects"]["names"] = "gone.txt"

    with pytest.raises(ConfigError) as refused:
        check_files(parse_settings(settings), root=tmp_path)
    assert str(refused.value).splitlines()[1:5] == [
        "  encoders.weights.pretrained: gone/b32.pt",
        "  classifiers.resnet.checkpoint: gone.pt",
        "  memorization.objects.names: gone.txt",
        "  encoders.folder.directory: no_model",
    ]


@pytest.mark.parametrize(
    ("section", "fault", "message"),
    [
        ("corpora", {"digits": {"shards": 5}}, "corpora.digits.shards: Input should be a valid "),
        ("corpora", {"web": {"shards": [5]}}, "corpora.web.shards.0: Input should be"),
        ("corpora", {"a b": {"shards": "a.tar"}}, "corpora.a b: String should match pattern"),
        ("corpora", {False: {"shards": "a.tar"}}, "corpora: the name False is not text, as YAML"),
        ("worlds", {"w": {"corpora": {}}}, "worlds.w.kind is missing."),
        ("worlds", {"w": {"kind": "glyf"}}, "worlds.w.kind: 'glyf' is not 'glyphs', 'digits'"),
        ("recipes", {"r": 5}, "recipes.r: Input should be a valid dictionary (given: 5)"),
        ("recipes", {"base": {"seed": 2**63}}, "recipes.base.seed: Input should be less than 9"),
    ],
)
def test_a_fault_is_at_the_place_that_the_file_has(settings, section, fault, message):
    settings[section] |= fault

    with pytest.raises(ConfigError) as refused:
        parse_settings(settings)
    assert f"\n  {message}" in str(refused.value)


@pytest.mark.parametrize("where", ["", "width >", "colour = 'red'", "count(*) > 1", "width"])
def test_a_split_that_can_choose_no_sample_is_refused_without_any(where):
    corpora = {"web": {"shards": "0.tar"}, "some": {"of": "web", "where": where}}

    with pytest.raises(ConfigError, match=r"^split some: `where: "):
        check_splits(parse_settings({"corpora": corpora}))


def test_each_split_of_the_shipped_settings_can_choose_samples():
    for settings in ROOT.glob("config/*.yaml"):
        check_splits(parse_settings(read_settings(settings)))


WEB = {"web": {"shards": "0.tar"}}


def test_a_model_that_open_clip_does_not_have_is_refused_with_similar_ones():
    content = {"corpora": WEB, "architectures": {"small": {"open_clip": "ViT-B32"}}}

    with pytest.raises(ConfigError, match=r"small\.open_clip: .* 'ViT-B32'\. Did.* ViT-B-32"):
        check_architectures(parse_settings(content))


def test_every_model_of_open_clip_is_known():
    models = {f"a{at}": {"open_clip": name} for at, name in enumerate(open_clip.list_models())}

    check_architectures(parse_settings({"corpora": WEB, "architectures": models}))
