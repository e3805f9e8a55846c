"""Section of corpora: paths of shards, how captions and labels are read."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from clipaudit.config.base import Distinct, Name, Section
from clipaudit.corpora.captions import Captioning
from clipaudit.errors import ConfigError


class LabelSet(Section):
    """The classes of a zero-shot task and how they become captions and prompts."""

    classes: str = Field(
        description="text file with one class name per line; the line number, from 0, is the label"
    )
    templates: list[str] = Field(
        ["a photo of a {}."],
        min_length=1,
        description="prompt templates; `{}` stands for the class (paper: the 80 of OpenAI)",
    )
    caption_template: str = Field(
        "a photo of a {}",
        description="the caption of a labelled training image (similarity, Sec. 5)",
    )

    @model_validator(mode="after")
    def _placeholders(self) -> "LabelSet":
        for template in [*self.templates, self.caption_template]:
            if template.count("{}") != 1:
                raise ValueError(f"template {template!r} must hold `{{}}` exactly once")
        try:
            Captioning("class", self.caption_template, ("class",))
        except ConfigError as error:
            raise ValueError(str(error)) from error
        return self


class LabelMap(Section):
    """A mapping from a test set's labels to the label set that classifiers learned."""

    to: Name = Field(description="a name under `label_sets`: the classifiers' classes")
    classes: str | list[int | str] = Field(
        description="a list, or a text file with one line per label, in the order of the labels: "
        "numbers or names of the classes that it stands for, separated by `;`; use a number if two "
        "classes share a name"
    )

    @property
    def lines(self) -> list[int | str] | bool:
        """The list, or True if a file holds it."""
        return True if isinstance(self.classes, str) else self.classes


class Blurred(Section):
    """A corpus made by blurring the faces of another one, and how faces are found."""

    of: Name = Field(description="the corpus whose shards are blurred; its rows keep their order")
    detector: str | None = Field(
        None,
        description="path of a face detector: a YuNet .onnx file, or a Haar cascade .xml of OpenCV "
        "4; when absent, the shards give the boxes",
    )
    boxes: str = Field(
        "faces",
        min_length=1,
        description="without a detector: the field of a sample's JSON that lists its faces, each "
        "[left, top, width, height] in pixels, or an object with that as `bbox`",
    )
    margin: float = Field(
        0.1,
        ge=0,
        le=1,
        description="share of its diagonal by which a face's box grows on each side (origin: Yang "
        "et al. 2022, ImageNet's faces)",
    )
    threshold: float = Field(
        0.9, gt=0, lt=1, description="YuNet: lowest score of a face (origin: OpenCV's default)"
    )

    @model_validator(mode="after")
    def _kind_of_detector(self) -> "Blurred":
        if self.detector is not None and not self.detector.endswith((".onnx", ".xml")):
            raise ValueError(
                f"detector {self.detector!r} ends neither in .onnx (YuNet) nor in .xml (a Haar "
                "cascade)"
            )
        return self


class Metadata(Section):
    """The samples of a corpus without images: rows of Parquet files, and their columns.

    Each file is a shard, and each of its rows is a row of that shard.
    """

    files: str | list[str] = Field(
        description="Parquet files; `{0..3}` stands for a range; add new ones at the end"
    )
    key: str | None = Field(
        None, description="column of a sample's key, unique in a file; the `uid` column when absent"
    )
    uid: str | None = Field(
        None,
        description="column of uids (32 hex digits); when absent, from URL (else key) and caption",
    )
    caption: str | None = Field(None, description="column of captions: a text, or a list of texts")
    url: str | None = Field(None, description="column of the image's URL")
    label: str | None = Field(None, description="column of the class number")
    fields: list[str] = Field(
        [], description="further columns, for the `where` of splits: metadata->>'NSFW' = 'UNLIKELY'"
    )

    @model_validator(mode="after")
    def _named_samples(self) -> "Metadata":
        if self.key is None and self.uid is None:
            raise ValueError("give `key` or `uid`: the column that identifies a sample")
        return self


class Corpus(Section):
    """A named list of shards or of rows without images, or a split: samples of another corpus."""

    shards: str | list[str] | None = Field(
        None,
        description="tars, Parquet files with images, lists of image files (.images), or URLs of "
        "tars or Parquet files; `{00000..00019}` stands for a range; add new ones at the end",
    )
    metadata: Metadata | None = Field(
        None, description="instead of shards: Parquet files that list samples without images"
    )
    of: Name | None = Field(None, description="a split: the corpus that its samples come from")
    where: str | None = Field(
        None,
        description="a split: its samples, as an SQL predicate over the columns of `samples`; "
        "`metadata` is a sample's JSON text: metadata->>'Eyeglasses' = '1'",
    )
    sets: Literal["drawn", "public", "records"] | None = Field(
        None,
        description="a split, instead of `where`: what the memorization audit drew from its source "
        "`of`: all of it, the public set, or the records of A, B and the hold-out",
    )
    label: str | None = Field(
        None, description="a split: the label as an SQL expression; its corpus's label when absent"
    )
    shards_per_part: int = Field(
        32, ge=1, description="shards per job; never changes a result (origin: 32-256 at scale)"
    )
    captions: Literal["text", "texts", "class", "none"] = Field(
        "text",
        description="from .txt or json; several per image, as in COCO, from a list in json or the "
        "lines of .txt; from the class by its template; or not needed",
    )
    caption_field: str = Field(
        "caption",
        min_length=1,
        description="the field of the JSON, or the column of a Parquet file, that holds the "
        "caption: with `captions: text` if there is no .txt, with `captions: texts` a list "
        "(`captions` when absent)",
    )
    may_lack_captions: bool = Field(
        False,
        description="keep images without a caption, or with one that cannot be read, for audits "
        "of images; a model cannot be trained on them",
    )
    labels: Name | None = Field(None, description="a name under `label_sets`: labels are needed")
    classes: Distinct[Annotated[int, Field(ge=0)]] | None = Field(
        None,
        min_length=1,
        description="labels that this test set uses; all when absent (ImageNet-A: 200)",
    )
    label_map: LabelMap | None = Field(
        None,
        description="a test set with its own label set: which classes of another label set its "
        "labels stand for, so that classifiers can be tested on it (ObjectNet, ImageNet-A, -R)",
    )
    title: str | None = Field(
        None, description="its name in tables; a published value is shown beside an equal title"
    )
    world: Name | None = Field(None, description="a name under `worlds` that makes the shards")
    blurred: Blurred | None = Field(
        None,
        description="the shards are those of another corpus with its faces blurred; they are "
        "written to data/blurred/<this corpus>/{00000..}.tar (déjà vu, App. C: all sets)",
    )

    @property
    def is_split(self) -> bool:
        """Whether its samples are some of another corpus's."""
        return self.of is not None

    @property
    def shard_patterns(self) -> str | list[str]:
        """The patterns of its tars, or of the files that list its samples; not for a split."""
        named = self.metadata.files if self.metadata is not None else self.shards
        assert named is not None, "a corpus that is not a split has shards"
        return named

    @model_validator(mode="after")
    def _one_source(self) -> "Corpus":
        if sum(source is not None for source in (self.shards, self.metadata, self.of)) != 1:
            raise ValueError(
                "give one of `shards`, `of` (for a split) or `metadata` (without images)"
            )
        chosen_by = [way for way in (self.where, self.sets) if way is not None]
        if len(chosen_by) != int(self.is_split):
            raise ValueError(
                "a split needs `of` and either `where` or `sets`; other corpora have none of them"
            )
        if self.label is not None and not self.is_split:
            raise ValueError("`label` belongs to a split, which has `of` and `where`")
        return self

    @model_validator(mode="after")
    def _one_maker(self) -> "Corpus":
        if self.blurred is not None and (self.is_split or self.world is not None):
            raise ValueError("a corpus with `blurred` cannot be a split or made by a world")
        if self.world is not None and self.is_split:
            raise ValueError("`world` makes shards, and a split has those of its corpus; remove it")
        if self.metadata is not None and (self.blurred is not None or self.world is not None):
            raise ValueError(
                "a corpus with `metadata` has no images to blur, and a world cannot make it"
            )
        return self

    @model_validator(mode="after")
    def _captions_and_labels(self) -> "Corpus":
        listed = self.metadata
        if listed and listed.caption is None and self.captions in ("text", "texts"):
            raise ValueError(
                f"`captions: {self.captions}` needs `metadata.caption`; write `captions: none` "
                "if there are no captions"
            )
        if listed and listed.label is None and self.labels is not None:
            raise ValueError("`labels` needs `metadata.label`")
        if self.captions == "class" and self.labels is None:
            raise ValueError("`captions: class` needs `labels`")
        if self.classes is not None and self.labels is None:
            raise ValueError("`classes` needs `labels`, the label set whose classes it lists")
        if self.label_map is not None and self.labels in (None, self.label_map.to):
            raise ValueError(
                f"`label_map` leads to {self.label_map.to}, so `labels` must name another label "
                "set: the test set's own class names, with which models are prompted"
            )
        return self
