import huggingface_hub
import numpy as np
import pytest
import timm
import torch
from PIL import Image
from pydantic import ValidationError
from safetensors.torch import save_file
from timm.models import save_for_hf
from torchvision.transforms import (
    CenterCrop,
    Compose,
    Normalize,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
    ToTensor,
)

from clipaudit.config.supervised import Classifier, SupervisedRecipe
from clipaudit.errors import ConfigError, InputError
from clipaudit.models.classifiers import (
    ClassifierSettings,
    build,
    load,
    training_preparation,
)
from clipaudit.models.clip import weights_bytes
from clipaudit.models.vision import Timm

NARROW = {"layers": [1, 1, 1, 1], "channels": [16, 16, 16, 16]}
RECIPE = SupervisedRecipe(model_arguments=NARROW, image_size=32)


@pytest.fixture
def picture():
    rng = np.random.default_rng(0)
    return Image.fromarray(rng.integers(0, 256, (300, 400, 3), np.uint8))


@pytest.fixture
def trained():
    return build(RECIPE, classes=5).model.eval()


def narrow(path, **changes):
    return Classifier(
        model="resnet18.tv_in1k", model_arguments=NARROW, checkpoint=str(path), **changes
    )


def prepared(preparation, picture):
    pixels = torch.from_numpy(np.stack([preparation.pixels(picture)]))
    return preparation.tensor(pixels, torch.device("cpu"))[0]


def logits(model):
    with torch.no_grad():
        return model.eval()(torch.ones(2, 3, 32, 32))


# --- trained here ---------------------------------------------------------------------------------


def test_the_random_seed_determines_the_weights():
    seeds = (0, 0, 1)

    one, same, other = (
        weights_bytes(build(RECIPE.model_copy(update={"seed": seed}), classes=5).model)
        for seed in seeds
    )

    assert one == same != other


def test_the_random_state_is_unchanged():
    before = torch.get_rng_state()

    build(RECIPE, classes=5)

    assert torch.equal(torch.get_rng_state(), before)


def test_images_are_prepared_as_in_the_pytorch_examples(picture):
    """The lines of its imagenet/main.py."""
    recipe = SupervisedRecipe(model_arguments=NARROW)
    end = [ToTensor(), Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    evaluating = Compose([Resize(256), CenterCrop(224), *end])
    training = Compose([RandomResizedCrop(224), RandomHorizontalFlip(), *end])

    torch.manual_seed(0)
    found = [prepared(training_preparation(recipe), picture) for _ in range(4)]

    torch.manual_seed(0)
    assert torch.equal(torch.stack(found), torch.stack([training(picture) for _ in range(4)]))
    tested = build(recipe, classes=5).preparation
    assert torch.equal(prepared(tested, picture), evaluating(picture))


def test_weights_of_a_training_run_can_be_reloaded(tmp_path, trained):
    path = tmp_path / "model"
    path.write_bytes(weights_bytes(trained))

    loaded = ClassifierSettings(RECIPE, None).load([path], classes=5)

    assert torch.equal(logits(loaded.model), logits(trained))
    with pytest.raises(InputError, match=r"fc\.bias: \(7,\) in the model, \(5,\) in the file"):
        ClassifierSettings(RECIPE, None).load([path], classes=7)


def test_a_transformer_is_built_for_the_image_size_of_the_recipe():
    recipe = SupervisedRecipe(model="test_vit", image_size=32)

    assert logits(build(recipe, classes=5).model).shape == (2, 5)


def test_an_unknown_model_is_refused_with_a_suggestion():
    with pytest.raises(ConfigError, match=r"no model 'resnet_18'\. Did you mean resnet18\?"):
        build(RECIPE.model_copy(update={"model": "resnet_18"}), classes=5)


@pytest.mark.parametrize("name", ["hf-hub:timm/resnet18", "local-dir:resnet18", "./resnet18"])
def test_code_comes_only_from_the_registry(name):
    with pytest.raises(ConfigError, match="timm has no model"):
        build(RECIPE.model_copy(update={"model": name}), classes=5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bogus": 1}, r"timm refuses resnet18 with .*'bogus': 1.*unexpected keyword"),
        ({"layers": [1, 1, 1]}, r"does not classify images of 32 x 32: .*layer4"),
        ({"global_pool": ""}, r"does not classify images of 32 x 32: "),
    ],
)
def test_arguments_that_give_no_classifier_are_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        build(RECIPE.model_copy(update={"model_arguments": arguments}), classes=5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_arguments": {"num_classes": 9}}, "num_classes: other settings decide"),
        ({"crop_scale": (0.9, 0.1)}, r"crop_scale\n .* 0\.9 to 0\.1: give 0 <"),
    ],
)
def test_contradictory_settings_are_refused(settings, message):
    with pytest.raises(ValidationError, match=message):
        SupervisedRecipe(**settings)


# --- from elsewhere -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["safetensors", "torch", "wrapped"])
def test_a_checkpoint_from_any_source_is_loaded(tmp_path, trained, picture, form):
    path = tmp_path / ("file.safetensors" if form == "safetensors" else "file.pth")
    weights = trained.state_dict()
    if form == "safetensors":
        save_file(weights, path)
    else:
        parallel = {f"module.{name}": each for name, each in weights.items()}
        torch.save(weights if form == "torch" else {"state_dict": parallel, "epoch": 3}, path)

    loaded = load(narrow(path), classes=5)

    assert torch.equal(logits(loaded.model), logits(trained))
    data = timm.data.resolve_model_data_config(timm.create_model("resnet18.tv_in1k"))
    stock = timm.data.create_transform(**data)
    assert torch.equal(prepared(loaded.preparation, picture), stock(picture))


def test_the_number_of_outputs_must_match_the_label_set(tmp_path, trained):
    save_file(trained.state_dict(), tmp_path / "five.safetensors")

    with pytest.raises(
        InputError, match=r"five\.safetensors: .* 5 outputs, but the label set has 1000 classes"
    ):
        load(narrow(tmp_path / "five.safetensors"), classes=1000)


def test_weights_of_another_model_are_refused(tmp_path, trained):
    save_file({"fc.weight": torch.zeros(5, 8)}, tmp_path / "head.safetensors")
    save_file({"head.weight": torch.zeros(5, 8)}, tmp_path / "other.safetensors")

    with pytest.raises(InputError, match=r"head\.safetensors: its weights do not fit resnet18"):
        load(narrow(tmp_path / "head.safetensors"), classes=5)
    with pytest.raises(InputError, match=r"other\.safetensors: has no fc\.weight, so it is not"):
        load(narrow(tmp_path / "other.safetensors"), classes=5)


@pytest.mark.parametrize("name", ["file.pth", "file.safetensors"])
@pytest.mark.parametrize("content", [b"", b"no checkpoint", "code"])
def test_a_file_that_holds_more_or_less_than_weights_is_refused(tmp_path, trained, name, content):
    path = tmp_path / name
    if content == "code":
        torch.save(trained, path)  # a pickled module
    else:
        path.write_bytes(content)

    with pytest.raises(InputError, match=f"{name}: not a checkpoint of only weights"):
        load(narrow(path), classes=5)


@pytest.mark.parametrize(
    "opened", [lambda given: load(Classifier(**given), classes=1000), lambda given: embedder(given)]
)
def test_a_config_beside_a_checkpoint_must_state_the_models_preparation(tmp_path, opened):
    model = timm.create_model("test_resnet.r160_in1k")
    given = {"model": "test_resnet", "checkpoint": str(tmp_path / "model.safetensors")}

    save_for_hf(model, tmp_path, safe_serialization=True)
    assert opened(given)

    save_for_hf(model, tmp_path, safe_serialization=True, data_config={"crop_pct": 0.5})
    with pytest.raises(InputError, match=r"another .* crop_pct 0\.5 .*\(test_resnet\.r160_in1k\)"):
        opened(given)


def embedder(given):
    return Timm(**given, device="cpu")


def test_a_missing_checkpoint_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"gone\.pth: no such checkpoint of resnet18"):
        load(narrow(tmp_path / "gone.pth"), classes=5)


def test_weights_come_from_the_hub_cache(tmp_path, monkeypatch):
    offline(tmp_path, monkeypatch)
    model = timm.create_model("test_resnet.r160_in1k").eval()
    folder = tmp_path / "hub/models--timm--test_resnet.r160_in1k"
    (folder / "snapshots/1").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text("1")
    save_file(model.state_dict(), folder / "snapshots/1/model.safetensors")

    loaded = load(Classifier(model="test_resnet.r160_in1k", pretrained=True), classes=1000)

    assert torch.equal(logits(loaded.model), logits(model))
    assert loaded.preparation.size == (160, 160)


def offline(folder, monkeypatch):
    """An empty hub cache, and no network."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def test_weights_that_cannot_be_found_are_refused(tmp_path, monkeypatch):
    offline(tmp_path, monkeypatch)

    with pytest.raises(InputError, match=r"resnet101\.tv_in1k: not in the hub cache .*HF_HOME"):
        load(Classifier(model="resnet101.tv_in1k", pretrained=True), classes=1000)


def test_a_name_without_weights_is_refused_with_a_list_of_names_with_weights():
    with pytest.raises(ConfigError, match=r"no resnet18\.mine: .*It has .*resnet18\.tv_in1k"):
        load(Classifier(model="resnet18.mine", pretrained=True), classes=1000)
    with pytest.raises(InputError, match=r"test_vit_relpos: timm has no weights"):
        load(Classifier(model="test_vit_relpos", pretrained=True), classes=1000)


@pytest.mark.parametrize("given", [{}, {"pretrained": True, "checkpoint": "a.pth"}])
def test_exactly_one_source_of_weights_is_required(given):
    with pytest.raises(ValidationError, match="give either `pretrained: true` or `checkpoint`"):
        Classifier(model="resnet18", **given)


def test_the_settings_of_a_job_determine_what_it_loads(tmp_path, trained):
    path = tmp_path / "given.safetensors"
    save_file(trained.state_dict(), path)
    elsewhere = narrow("as/the/settings/say.safetensors")

    found = [
        ClassifierSettings(RECIPE, None).load([path], classes=5),
        ClassifierSettings(None, elsewhere).load([path], classes=5),
    ]

    assert all(torch.equal(logits(each.model), logits(trained)) for each in found)
