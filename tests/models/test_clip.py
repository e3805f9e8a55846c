import json
from dataclasses import asdict

import huggingface_hub
import open_clip
import open_clip.pretrained
import pytest
import torch
from open_clip.transform import PreprocessCfg
from safetensors.torch import save_file
from tinyclip import tiny

from clipaudit.config.training import Architecture, Encoder
from clipaudit.errors import ConfigError, InputError
from clipaudit.models.clip import (
    build,
    from_checkpoint,
    from_directory,
    from_pretrained,
    load_weights,
    weights_bytes,
)
from clipaudit.models.encoders import ModelSettings

VIT = {"image_size": 32, "layers": 1, "width": 16, "head_width": 8, "patch_size": 8}


def written(clip, folder):
    path = folder / "model.safetensors"
    path.write_bytes(weights_bytes(clip.model))
    return path


def directory(architecture, clip, folder, weights="open_clip_model.safetensors"):
    """A folder as open_clip's push_to_hf_hub leaves it."""
    text = architecture.definition["text_cfg"] | {
        "vocab_size": clip.tokenizer.vocab_size,
        "tokenizer_kwargs": {"bpe_path": architecture.vocabulary},
    }
    config = {
        "model_cfg": architecture.definition | {"text_cfg": text},
        "preprocess_cfg": {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]},
    }
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    if weights.endswith(".safetensors"):
        save_file(clip.model.state_dict(), folder / weights)
    else:
        torch.save(clip.model.state_dict(), folder / weights)
    return folder


def test_weights_depend_only_on_the_random_seed(architecture):
    state = torch.get_rng_state()

    first, again, other = (weights_bytes(build(architecture, seed=n).model) for n in (1, 1, 2))

    assert first == again != other
    assert torch.equal(torch.get_rng_state(), state)


def test_initial_weights_equal_those_of_open_clip(architecture, clip, tmp_path):
    folder = directory(architecture, clip, tmp_path)

    torch.manual_seed(3)
    stock = open_clip.create_model(f"local-dir:{folder}", load_weights=False)

    assert weights_bytes(stock) == weights_bytes(build(architecture, seed=3).model)


def test_the_vocabulary_determines_the_size_and_the_tokenizer(clip):
    tokens = clip.tokenizer(["a red cat"])

    assert clip.model.vocab_size == clip.tokenizer.vocab_size < 1000
    assert tokens.shape == (1, 12)
    assert tokens.max() == clip.tokenizer.eot_token_id


def test_a_vocabulary_larger_than_stated_is_refused(tmp_path):
    text = {"context_length": 12, "width": 16, "heads": 2, "layers": 1, "vocab_size": 300}

    with pytest.raises(ConfigError, match=r"vocab_size is 300, but .*bpe.* has 5\d\d tokens"):
        build(tiny(tmp_path, text_cfg=text), seed=0)


def test_an_invalid_vocabulary_is_refused(tmp_path, architecture):
    (tmp_path / "bpe.txt.gz").write_text("a b")

    with pytest.raises(InputError, match="not a BPE vocabulary"):
        build(architecture, seed=0)


def test_an_unknown_name_gives_a_suggestion():
    with pytest.raises(ConfigError, match=r"no model 'ViT-B32'\. Did you mean ViT-B-32\?"):
        build(Architecture(open_clip="ViT-B32"), seed=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vision_cfg": VIT | {"widht": 8}}, "widht"),
        ({"vision_cfg": None}, "has no vision_cfg"),
        ({"vision_cfg": VIT | {"width": 32, "head_width": 10}}, "refuses the architecture's def"),
        ({"multimodal_cfg": {}}, "CoCa"),
    ],
)
def test_an_invalid_definition_is_refused(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        build(tiny(tmp_path, **changes), seed=0)


def test_a_definition_without_a_tower_is_refused():
    with pytest.raises(ConfigError, match="has no text_cfg, vision_cfg"):
        build(Architecture(definition={"embed_dim": 8}), seed=0)


def test_a_checkpoint_survives_a_round_trip(architecture, tmp_path):
    trained = build(architecture, seed=5)

    loaded = from_checkpoint(architecture, written(trained, tmp_path))

    assert weights_bytes(loaded.model) == weights_bytes(trained.model)


def test_a_checkpoint_of_another_architecture_is_refused_with_both_shapes(tmp_path, clip):
    wider = tiny(tmp_path, embed_dim=24)

    with pytest.raises(InputError, match=r"\(16, 24\) in the model, \(16, 16\) in the file"):
        from_checkpoint(wider, written(clip, tmp_path))


def test_missing_and_damaged_checkpoints_are_refused(clip, tmp_path):
    (tmp_path / "cut.safetensors").write_bytes(weights_bytes(clip.model)[:100])

    with pytest.raises(InputError, match="no such checkpoint"):
        load_weights(clip.model, tmp_path / "none.safetensors")
    with pytest.raises(InputError, match="not a safetensors file"):
        load_weights(clip.model, tmp_path / "cut.safetensors")


@pytest.mark.parametrize("weights", ["open_clip_model.safetensors", "open_clip_pytorch_model.bin"])
def test_a_directory_loads_as_in_open_clip(architecture, tmp_path, weights):
    folder = directory(architecture, build(architecture, seed=5), tmp_path, weights)
    images = torch.rand(2, 3, 32, 32)

    clip = from_directory(folder)

    stock = open_clip.create_model(f"local-dir:{folder}").eval()
    assert torch.equal(clip.model.eval().encode_image(images), stock.encode_image(images))
    assert asdict(clip.preprocessing)["mean"] == [0.5, 0.5, 0.5]
    assert clip.preprocessing.size == 32


def test_a_directory_without_config_or_weights_is_refused(architecture, clip, tmp_path):
    with pytest.raises(InputError, match=r"open_clip_config\.json: not found"):
        from_directory(tmp_path)
    directory(architecture, clip, tmp_path)
    (tmp_path / "open_clip_model.safetensors").unlink()
    with pytest.raises(InputError, match="no weights"):
        from_directory(tmp_path)


class Evil:
    def __reduce__(self):
        return print, ("code from a checkpoint ran",)


def test_code_in_a_checkpoint_does_not_run(architecture, clip, tmp_path, capsys):
    folder = directory(architecture, clip, tmp_path, "open_clip_pytorch_model.bin")
    torch.save(Evil(), folder / "open_clip_pytorch_model.bin")

    with pytest.raises(InputError, match="not a checkpoint of only weights"):
        from_directory(folder)

    assert capsys.readouterr().out == ""


def test_a_pretrained_file_is_loaded(architecture, clip, tmp_path):
    path = tmp_path / "anyone.pt"
    names = {f"module.{name}": value for name, value in clip.model.state_dict().items()}
    torch.save({"state_dict": names, "epoch": 3}, path)

    loaded = from_pretrained(architecture, str(path))

    assert weights_bytes(loaded.model) == weights_bytes(clip.model)


@pytest.mark.parametrize(
    ("part", "stated", "name"),
    [
        ("model_cfg", {"quick_gelu": True}, "quick_gelu"),
        ("preprocess_cfg", {"mean": [0.5, 0.5, 0.5]}, "mean"),
        ("preprocess_cfg", {"interpolation": "bilinear"}, "interpolation"),
        ("preprocess_cfg", {"resize_mode": "squash"}, "resize_mode"),
        ("preprocess_cfg", {"size": 448, "interpolation": "bicubic"}, None),
        ("model_cfg", {}, None),
    ],
)
def test_a_file_whose_config_states_another_activation_or_preparation_is_refused(
    architecture, clip, tmp_path, part, stated, name
):
    config = {"model_cfg": architecture.definition, "preprocess_cfg": {}}
    config[part] = config[part] | stated
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config))
    path = written(clip, tmp_path)

    if name is None:
        assert from_pretrained(architecture, str(path))
    else:
        with pytest.raises(InputError, match=f"another {name} than .* as `directory`"):
            from_pretrained(architecture, str(path))


def test_a_pretrained_file_of_another_architecture_is_refused_with_the_weight(clip, tmp_path):
    wider = tiny(tmp_path, embed_dim=24)

    with pytest.raises(InputError, match=r"do not fit(.|\n)*text_projection"):
        from_pretrained(wider, str(written(clip, tmp_path)))


def test_a_misfit_shows_few_shapes_and_the_number_of_the_others(architecture, clip, tmp_path):
    wider = tiny(tmp_path, text_cfg=architecture.definition["text_cfg"] | {"width": 32})

    with pytest.raises(
        InputError, match=r"do not fit.*\(32,\) in the model, \(16,\) in.* more\."
    ) as found:
        from_pretrained(wider, str(written(clip, tmp_path)))

    assert len(str(found.value)) < 800


@pytest.mark.parametrize(
    "content",
    ["a whole model", b'{"a": 1}', b"hello", {"model": {"weight": torch.zeros(2)}}, {}],
    ids=["model", "json", "text", "nested", "empty"],
)
def test_a_file_of_other_objects_is_refused_with_how_to_save_weights(
    architecture, clip, tmp_path, content
):
    path = tmp_path / "other.pt"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(clip.model if content == "a whole model" else content, path)

    with pytest.raises(InputError, match=r"only weights.* Save `model\.state_dict\(\)`") as found:
        from_pretrained(architecture, str(path))

    assert "\x1b" not in str(found.value)


@pytest.mark.parametrize("length", [0, 2_000])
def test_a_truncated_file_is_called_damaged(architecture, clip, tmp_path, length):
    path = tmp_path / "cut.pt"
    torch.save(clip.model.state_dict(), path)
    path.write_bytes(path.read_bytes()[:length])

    with pytest.raises(InputError, match=r"cut\.pt: damaged.* Copy or save it again"):
        from_pretrained(architecture, str(path))


def test_an_unknown_tag_is_refused_with_a_list_of_known_ones():
    with pytest.raises(InputError, match=r"neither a file nor a tag of ViT-B-32\. .*laion400m_e32"):
        from_pretrained(Architecture(open_clip="ViT-B-32"), "laion9000")


def test_a_tag_for_a_definition_is_refused(architecture):
    with pytest.raises(InputError, match="openai: no such file"):
        from_pretrained(architecture, "openai")


@pytest.fixture
def hub(tmp_path, monkeypatch, clip, architecture):
    """A hub cache without network that may hold tag `mine` of a model `tiny-test`."""
    registry = tmp_path / "tiny-test.json"
    text = architecture.definition["text_cfg"] | {"vocab_size": clip.tokenizer.vocab_size}
    registry.write_text(json.dumps(architecture.definition | {"text_cfg": text}))
    open_clip.add_model_config(registry)
    tag = {"mine": {"hf_hub": "me/tiny/", "mean": (0.5, 0.5, 0.5), "quick_gelu": True}}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny-test", tag)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub" / "models--me--tiny"


def named(architecture):
    return Architecture(open_clip="tiny-test", vocabulary=architecture.vocabulary)


def cache(hub, clip):
    """Put the weights into the hub cache."""
    snapshot = hub / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text("0" * 40)
    save_file(clip.model.state_dict(), snapshot / "open_clip_model.safetensors")


def test_a_tag_is_loaded_from_the_hub_cache(hub, architecture, clip):
    cache(hub, clip)

    loaded = from_pretrained(named(architecture), "mine")

    assert weights_bytes(loaded.model) == weights_bytes(clip.model)
    assert loaded.preprocessing.mean == (0.5, 0.5, 0.5)
    assert "QuickGELU" in str(loaded.model)


def test_a_tag_that_says_nothing_of_the_activation_keeps_that_of_the_named_model(
    hub, architecture, clip, tmp_path, monkeypatch
):
    definition = json.loads((tmp_path / "tiny-test.json").read_text()) | {"quick_gelu": True}
    (tmp_path / "tiny-quick.json").write_text(json.dumps(definition))
    open_clip.add_model_config(tmp_path / "tiny-quick.json")
    silent = {"mine": {"hf_hub": "me/tiny/"}}
    monkeypatch.setitem(open_clip.pretrained._PRETRAINED, "tiny-quick", silent)
    cache(hub, clip)
    asked = Architecture(open_clip="tiny-quick", vocabulary=architecture.vocabulary)

    assert "QuickGELU" in str(from_pretrained(asked, "mine").model)


def test_a_named_model_whose_tokenizer_is_not_cached_gives_the_next_step(hub):
    architecture = Architecture(open_clip="ViT-B-16-SigLIP")

    with pytest.raises(InputError, match=r"timm/ViT-B-16-SigLIP: its tokenizer .* set HF_HOME\.$"):
        build(architecture, seed=0)


def test_a_tag_that_is_not_cached_gives_an_error_with_the_next_step(hub, architecture):
    with pytest.raises(InputError, match="tiny-test mine: not in the hub cache"):
        from_pretrained(named(architecture), "mine")


def test_an_encoder_names_exactly_one_of_three_sources(architecture, clip, tmp_path):
    path = written(clip, tmp_path)
    (tmp_path / "hub").mkdir()
    folder = directory(architecture, clip, tmp_path / "hub")

    clips = [
        ModelSettings(Encoder(model="base/all"), architecture).load([path]),
        ModelSettings(Encoder(architecture="tiny", pretrained=str(path)), architecture).load([]),
        ModelSettings(Encoder(directory=str(folder)), None).load([]),
    ]

    assert {weights_bytes(each.model) for each in clips} == {weights_bytes(clip.model)}
    assert clips[0].preprocessing.mean == PreprocessCfg().mean
