"""Section of models: architectures, training recipes and encoders."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from clipaudit.config.base import Section


def _least_first(shares: tuple[float, float]) -> tuple[float, float]:
    low, high = shares
    if not 0 < low <= high <= 1:
        raise ValueError(f"{low} to {high}: give 0 < least <= most <= 1")
    return shares


CropScale = Annotated[tuple[float, float], AfterValidator(_least_first)]


class Architecture(Section):
    """A CLIP architecture: a name that open_clip knows, or a definition in its JSON form."""

    open_clip: str | None = Field(
        None,
        description="a name that open_clip.list_models() prints; training starts from random "
        "weights, also in a text tower of transformers",
    )
    definition: dict[str, Any] | None = Field(
        None, description="embed_dim, vision_cfg and text_cfg as in open_clip's model configs"
    )
    vocabulary: str | None = Field(
        None, description="BPE merges file for the tokenizer; open_clip's own when absent"
    )

    @model_validator(mode="after")
    def _one_source(self) -> "Architecture":
        if (self.open_clip is None) == (self.definition is None):
            raise ValueError("give either `open_clip` (a name) or `definition`, not both")
        return self


class WarmStart(Section):
    """The model of this workflow whose weights a training run starts from."""

    recipe: str = Field(description="the recipe that it was trained with")
    manifest: str = Field(description="the manifest that it was trained on")


class Recipe(Section):
    """How a model is trained. Defaults are open_clip_train's for ViTs unless an origin is named."""

    architecture: str = Field(description="a name under `architectures`")
    start_from: WarmStart | None = Field(None, description="weights of another trained model")
    epochs: int = Field(32, ge=1, description="passes over the kept samples (paper: 32)")
    batch_size: int = Field(
        64,
        ge=2,
        description="samples per step, which the loss compares, shared equally among all processes",
    )
    learning_rate: float = Field(5e-4, gt=0, description="peak rate of the cosine schedule")
    warmup_steps: int = Field(10_000, ge=0, description="steps of linear warm-up")
    weight_decay: float = Field(0.2, ge=0, description="AdamW; not on biases, gains, logit scale")
    beta1: float = Field(0.9, gt=0, lt=1, description="AdamW")
    beta2: float = Field(
        0.98,
        gt=0,
        lt=1,
        description="AdamW; open_clip_train's for ViT models: for others it takes 0.999",
    )
    epsilon: float = Field(
        1e-6, gt=0, description="AdamW; open_clip_train's for ViT models: for others it takes 1e-8"
    )
    gradient_clip_norm: float | None = Field(None, gt=0, description="no clipping when absent")
    precision: Literal["fp32", "amp", "amp_bf16"] = Field(
        "fp32",
        description="open_clip's names, of which open_clip_train takes amp when none is given; on "
        "CPUs only fp32 pays off here",
    )
    crop_scale: CropScale = Field(
        (0.9, 1.0), description="random resized crop, share of the area (open_clip's default)"
    )
    logit_scale: Annotated[float, Field(gt=0)] | Literal["learned"] = Field(
        "learned", description="a number fixes the logit scale at this value"
    )
    max_logit_scale: float = Field(
        100.0, ge=1, description="upper clamp of a learned logit scale (open_clip's constant)"
    )
    token_masking: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of caption tokens dropped afresh each epoch; never for a corpus with "
        "several captions per image (déjà vu, Sec. 5.4)",
    )
    caption_choice: Literal["random", "first"] = Field(
        "random",
        description="for a corpus with several captions per image: one drawn afresh each epoch, or "
        "always the first (déjà vu, Sec. 5.4: drawn)",
    )
    captions: int | None = Field(
        None,
        ge=1,
        exclude_if=lambda value: value is None,
        description="for a corpus with several captions per image: draw only from the first N; "
        "all when absent",
    )
    text_noise: float = Field(
        0.0,
        ge=0,
        exclude_if=lambda value: value == 0,
        description="standard deviation of the Gaussian noise added to each number of the unit "
        "text embeddings in training, drawn again at each step",
    )
    local_loss: bool = Field(False, description="several processes: loss over local rows only")
    gather_with_grad: bool = Field(False, description="several processes: gather with gradients")
    shuffle: Literal["shards", "samples"] = Field(
        "shards",
        description="what is shuffled: shards, which are then read one after another; or single "
        "samples, each read from its place in a plain tar on a disk, for shards whose samples are "
        "ordered by class",
    )
    shuffle_buffer: int = Field(
        5_000, ge=1, description="samples held for shuffling, on top of the shuffled shards"
    )
    workers: int = Field(
        1,
        ge=0,
        description="decoding processes (ours; open_clip_train: 4); a part of the recipe, since it "
        "sets the order",
    )
    seed: int = Field(
        0, ge=0, lt=2**63, description="weights, order, crops, masking, drawn captions"
    )


class Encoder(Section):
    """A model that embeds: trained here, known to open_clip, a file, or a plug-in."""

    model: str | None = Field(None, description="`recipe/manifest` of a model trained here")
    epoch: int | None = Field(
        None,
        ge=1,
        description="for `model`: the checkpoint after this many epochs; the last when absent",
    )
    architecture: str | None = Field(None, description="a name under `architectures`")
    pretrained: str | None = Field(
        None,
        description="open_clip's tag of a checkpoint, which also sets the activation and the "
        "preparation of images; or a checkpoint's path, whose activation is the architecture's "
        "(ViT-B-32-quickgelu for OpenAI's) and whose preparation is open_clip's default",
    )
    directory: str | None = Field(
        None, description="a local folder with open_clip_config.json and its weights"
    )
    plugin: str | None = Field(
        None,
        description="an image encoder by its entry point in `clipaudit.encoders`: timm, "
        "transformers, or an installed plug-in (docs/plugins.md)",
    )
    options: dict[str, Any] = Field(
        {}, description="for `plugin`; the contents of files that they name enter the keys"
    )
    batch_size: int = Field(256, ge=1, description="images per forward pass")
    precision: Literal["fp32", "amp_bf16"] = Field(
        "fp32",
        description="precision of embedding images and captions; amp_bf16 saves GPU time and "
        "changes embeddings (docs/scale.md says how much)",
    )
    title: str | None = Field(None, description="its name in tables")

    @model_validator(mode="after")
    def _one_source(self) -> "Encoder":
        given = (self.model, self.pretrained, self.directory, self.plugin)
        if sum(each is not None for each in given) != 1:
            raise ValueError("give exactly one of `model`, `pretrained`, `directory`, `plugin`")
        if self.options and self.plugin is None:
            raise ValueError("`options` belong to `plugin`; name one, or remove them")
        if self.plugin is not None and self.precision != "fp32":
            raise ValueError("`plugin` takes no `precision`; give what it needs as `options`")
        if self.plugin is not None and self.architecture is not None:
            raise ValueError("`plugin` takes no `architecture`; give what it needs as `options`")
        if self.architecture is not None and self.pretrained is None:
            raise ValueError(
                "`architecture` belongs to `pretrained`: a model trained here has its recipe's, a "
                "directory its own; remove it"
            )
        if self.pretrained is not None and self.architecture is None:
            raise ValueError("`pretrained` needs `architecture`")
        if self.epoch is not None and self.model is None:
            raise ValueError("`epoch` belongs to `model`, a model trained here")
        return self
