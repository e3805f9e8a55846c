"""Section of classifiers with labels: their training, and timm checkpoints as references."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from clipaudit.config.base import Section
from clipaudit.config.training import CropScale

DECIDED_ELSEWHERE = ("checkpoint_path", "in_chans", "num_classes", "pretrained")


def _free(arguments: dict[str, Any]) -> dict[str, Any]:
    """Reject arguments that other settings decide: with them timm would make its own head."""
    taken = [name for name in DECIDED_ELSEWHERE if name in arguments]
    if taken:
        raise ValueError(f"{', '.join(taken)}: other settings decide this; remove it")
    return arguments


ModelArguments = Annotated[dict[str, Any], AfterValidator(_free)]


class SupervisedRecipe(Section):
    """How a classifier is trained on labels. Defaults are those of pytorch/examples' imagenet.

    The similarity paper (App. B.3) trains ResNet-18s "until convergence using standard PyTorch
    hyperparameter settings".
    """

    model: str = Field(
        "resnet18", description="a name that timm.list_models() prints (paper: ResNet-18)"
    )
    model_arguments: ModelArguments = Field(
        {},
        description="passed to timm: {layers: [1, 1, 1, 1], channels: [8, 16, 32, 64]} makes a "
        "small ResNet, {zero_init_last: false} one initialised as in torchvision",
    )
    image_size: int = Field(224, ge=1, description="side of the model's input in pixels")
    crop_scale: CropScale = Field(
        (0.08, 1.0), description="random resized crop, share of the area (torchvision's default)"
    )
    flip: bool = Field(True, description="mirror every other training image, drawn at random")
    evaluation_crop: float = Field(
        0.875, gt=0, le=1, description="share of a test image's shorter side (224 of 256)"
    )
    epochs: int = Field(90, ge=1, description="passes over the kept samples")
    batch_size: int = Field(256, ge=1, description="samples per step")
    learning_rate: float = Field(0.1, gt=0, description="SGD's rate in the first epochs")
    learning_rate_epochs: int = Field(
        30, ge=1, description="epochs between decays of the learning rate"
    )
    learning_rate_factor: float = Field(0.1, gt=0, le=1, description="factor of each decay")
    momentum: float = Field(0.9, ge=0, lt=1, description="SGD's momentum")
    weight_decay: float = Field(1e-4, ge=0, description="SGD's weight decay, on all weights")
    precision: Literal["fp32", "amp", "amp_bf16"] = Field(
        "fp32", description="as for `recipes`: open_clip's names"
    )
    shuffle: Literal["shards", "samples"] = Field(
        "shards", description="as for `recipes`: what is shuffled"
    )
    shuffle_buffer: int = Field(
        5_000, ge=1, description="as for `recipes`: samples held for shuffling"
    )
    workers: int = Field(
        1, ge=0, description="as for `recipes`: decoding processes, which set the order"
    )
    seed: int = Field(0, ge=0, lt=2**63, description="weights, order and crops")


class Classifier(Section):
    """A timm classifier that was not trained here (paper, Table 4: ResNet-101 on ImageNet-1k).

    Its classes are those of the label set, in the same order.
    """

    model: str = Field(
        description="a name that timm knows; its tag decides how images are prepared, and which "
        "weights `pretrained` loads: resnet101.tv_in1k"
    )
    model_arguments: ModelArguments = Field({}, description="passed to timm")
    pretrained: bool = Field(
        False, description="timm's weights, from the hub cache or, if there is one, the network"
    )
    checkpoint: str | None = Field(
        None, description="a local file with weights: safetensors, or from torch.save"
    )
    batch_size: int = Field(256, ge=1, description="images per forward pass")
    title: str | None = Field(None, description="its name in tables")

    @model_validator(mode="after")
    def _one_source(self) -> "Classifier":
        if self.pretrained == (self.checkpoint is not None):
            raise ValueError("give either `pretrained: true` or `checkpoint`, not both")
        return self
