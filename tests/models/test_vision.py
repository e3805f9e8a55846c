"""The encoders that come with the project, on tiny random models."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from safetensors.torch import save_file

from clipaudit.errors import ConfigError, InputError
from clipaudit.models.thumbnails import Thumbnails
from clipaudit.models.vision import Timm, Transformers

PICTURES = [
    np.random.default_rng(seed).integers(0, 256, (40 + seed, 60, 3)).astype(np.uint8)
    for seed in range(3)
]
TINY = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "image_size": 32,
    "patch_size": 8,
}
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture
def vit(tmp_path):
    """A timm model with its head, and a file of its weights."""
    model = timm.create_model("test_vit").eval()
    save_file(model.state_dict(), tmp_path / "vit.safetensors")
    return model, str(tmp_path / "vit.safetensors")


@pytest.fixture
def folder(tmp_path):
    """A folder of transformers with a classifier, whose file has no weights of a pooler."""
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

    ViTForImageClassification(ViTConfig(**TINY)).save_pretrained(tmp_path)
    ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    return str(tmp_path)


def test_a_timm_model_gives_its_features_before_the_head(vit):
    model, file = vit
    settings = timm.data.resolve_model_data_config(model)
    prepare = timm.data.create_transform(**settings, is_training=False)
    images = torch.stack([prepare(Image.fromarray(picture)) for picture in PICTURES])
    with torch.no_grad():
        wanted = model.forward_head(model.forward_features(images), pre_logits=True).numpy()

    found = Timm(model="test_vit", checkpoint=file, device="cpu").embed(PICTURES)

    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_a_timm_model_accepts_another_image_size(vit):
    encoder = Timm(model="test_vit", checkpoint=vit[1], arguments={"img_size": 64}, device="cpu")

    assert encoder.embed(PICTURES).shape == (3, 64)


def test_flexivit_and_radio_are_resized_as_by_timm(tmp_path):
    file = str(tmp_path / "weights.safetensors")
    for name in ("flexivit_small", "vit_base_patch16_radio_v3"):
        source = timm.create_model(name, depth=1)
        save_file(source.state_dict(), file)
        arguments = {"depth": 1, "img_size": 96}
        overlay = {"file": file, "custom_load": False}
        wanted = timm.create_model(
            name, pretrained=True, pretrained_cfg_overlay=overlay, num_classes=0, **arguments
        )

        found = Timm(model=name, checkpoint=file, arguments=arguments, device="cpu")

        assert torch.equal(found._model.pos_embed, wanted.pos_embed)


def test_the_published_files_of_deit3_are_loaded(tmp_path):
    source = timm.create_model("deit3_small_patch16_224", depth=1).eval()
    weights = source.state_dict()
    for layer in "12":
        weights[f"blocks.0.gamma_{layer}"] = weights.pop(f"blocks.0.ls{layer}.gamma")
    torch.save({"model": weights}, tmp_path / "deit_3_small_224_1k.pth")
    file = str(tmp_path / "deit_3_small_224_1k.pth")

    found = Timm(
        model="deit3_small_patch16_224", checkpoint=file, arguments={"depth": 1}, device="cpu"
    )

    assert torch.equal(found._model.blocks[0].ls2.gamma, source.blocks[0].ls2.gamma)


def test_weights_of_another_timm_model_are_refused(vit):
    with pytest.raises(InputError, match="weights of the model are not in the file"):
        Timm(model="test_resnet", checkpoint=vit[1], device="cpu")


def test_an_argument_that_timm_does_not_accept_gives_one_message(vit):
    with pytest.raises(ConfigError, match="timm refuses test_vit"):
        Timm(model="test_vit", checkpoint=vit[1], arguments={"sides": 3}, device="cpu")


def test_missing_weights_are_not_downloaded():
    with pytest.raises(InputError, match="neither a folder nor in the hub cache"):
        Timm(model="test_vit.r160_in1k", device="cpu")


def test_the_first_token_needs_no_pooler(folder):
    encoder = Transformers(checkpoint=folder, output="cls", device="cpu")

    assert encoder.embed(PICTURES).shape == (3, 16)


def test_a_pooler_without_weights_is_refused(folder):
    with pytest.raises(InputError, match=r"first pooler\.dense"):
        Transformers(checkpoint=folder, device="cpu")


def test_the_vision_model_of_a_clip_model_is_used(tmp_path):
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

    text = {name: TINY[name] for name in list(TINY)[:4]}
    model = CLIPModel(CLIPConfig(vision_config=TINY, text_config=text))
    model.save_pretrained(tmp_path)
    size = {"height": 32, "width": 32}
    CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=size).save_pretrained(tmp_path)

    found = Transformers(checkpoint=str(tmp_path), device="cpu").embed(PICTURES)

    assert found.shape == (3, 16)


def test_a_model_of_images_in_their_own_aspect_gets_its_processors_mask(tmp_path):
    from transformers import Siglip2Config, Siglip2ImageProcessor, Siglip2Model

    vision = {name: value for name, value in TINY.items() if name != "image_size"}
    text = {name: TINY[name] for name in list(TINY)[:4]}
    config = Siglip2Config(vision_config=vision | {"num_patches": 16}, text_config=text)
    model = Siglip2Model(config).eval()
    model.save_pretrained(tmp_path)
    processor = Siglip2ImageProcessor(patch_size=8, max_num_patches=16)
    processor.save_pretrained(tmp_path)
    with torch.no_grad():
        wanted = model.get_image_features(**processor(images=PICTURES, return_tensors="pt"))

    found = Transformers(checkpoint=str(tmp_path), device="cpu").embed(PICTURES)

    np.testing.assert_allclose(found, wanted.pooler_output.numpy(), rtol=1e-4, atol=1e-5)


def test_a_model_without_a_class_token_gives_the_mean_of_its_tokens(tmp_path):
    from transformers import IJepaConfig, IJepaModel, ViTImageProcessor

    model = IJepaModel(IJepaConfig(**TINY)).eval()
    model.save_pretrained(tmp_path)
    processor = ViTImageProcessor(size={"height": 32, "width": 32})
    processor.save_pretrained(tmp_path)
    with torch.no_grad():
        images = processor(images=PICTURES, return_tensors="pt")
        wanted = model(**images).last_hidden_state.mean(dim=1).numpy()
    checkpoint = str(tmp_path)

    found = Transformers(checkpoint=checkpoint, output="mean", device="cpu").embed(PICTURES)

    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    with pytest.raises(
        ConfigError, match=r"no class token, .* options\.output to pooled, or to mean"
    ):
        Transformers(checkpoint=checkpoint, output="cls", device="cpu")
    with pytest.raises(ConfigError, match=r"no pooled output\. Set options\.output to mean"):
        Transformers(checkpoint=checkpoint, device="cpu").embed(PICTURES)


def test_a_masked_autoencoder_sees_all_patches(tmp_path):
    from transformers import ViTImageProcessor, ViTMAEConfig, ViTMAEForPreTraining, ViTModel

    ViTMAEForPreTraining(ViTMAEConfig(**TINY)).save_pretrained(tmp_path)
    processor = ViTImageProcessor(size={"height": 32, "width": 32})
    processor.save_pretrained(tmp_path)
    unmasked = ViTModel.from_pretrained(tmp_path, add_pooling_layer=False).eval()
    with torch.no_grad():
        images = processor(images=PICTURES, return_tensors="pt")
        wanted = unmasked(**images).last_hidden_state[:, 0].numpy()

    encoder = Transformers(checkpoint=str(tmp_path), output="cls", device="cpu")
    found = [encoder.embed(PICTURES) for _ in range(3)]

    np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-5)
    assert all(np.array_equal(found[0], again) for again in found)


def test_the_project_registers_both_encoders():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    registered = project["entry-points"]["clipaudit.encoders"]

    loaded = {
        name: EntryPoint(name, value, "clipaudit.encoders").load()
        for name, value in registered.items()
    }

    assert loaded == {"pillow": Thumbnails, "timm": Timm, "transformers": Transformers}
