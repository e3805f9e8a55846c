"""Section of the parrot-caption audit."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from clipaudit.config.base import Distinct, Name, Section
from clipaudit.config.deduplication import WithinClusters
from clipaudit.config.given import GivenRows
from clipaudit.parrot.curated_settings import Curations, Evidence
from clipaudit.parrot.fixed import MOST_CLUSTERS
from clipaudit.parrot.unicode_scripts import is_script

OWN_SPOTTERS = ("rapidocr", "dataset", "given")

TypeShare = Annotated[float, Field(gt=0, le=1)]


class GivenSpans(GivenRows):
    """Files with the text in a corpus's images: Parquet, or JSON."""

    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".jsonl", ".json")

    absent: Literal["unread", "no text"] = Field(
        "unread",
        description="meaning of an image without a row: it was not read and is dropped, or it "
        "shows no text",
    )
    may_lack: float = Field(
        0.0, ge=0, le=1, description="share of a part's images that may be dropped for that reason"
    )


class Spotting(Section):
    """How text is read in images."""

    spotter: Name = Field(
        "rapidocr",
        description="an OCR engine; `dataset`: the spans that the samples' JSON states; "
        "`given`: those of files; or a plug-in by its entry point in `clipaudit.spotters` "
        "(docs/plugins.md)",
    )
    given: dict[Name, GivenSpans] = Field({}, description="given: the files, for every corpus")
    options: dict[str, Any] = Field(
        {}, description="options of a plug-in; the contents of files named in them enter the keys"
    )
    field: str = Field(
        "spans", min_length=1, description="dataset: the field of a sample's JSON that lists them"
    )
    text_score: float = Field(
        0.5,
        ge=0,
        lt=1,
        description="text with a lower score is not stored (rapidocr's default); `text` sets what "
        "counts",
    )
    box_threshold: float = Field(
        0.5, gt=0, lt=1, description="least score of a text region (rapidocr's default)"
    )
    longest_side: int = Field(
        2000,
        ge=64,
        description="pixels; larger images are scaled down to this (rapidocr's default)",
    )
    shorter_side: int = Field(
        128,
        ge=1,
        description="pixels; images with a shorter one are scaled up to this: small words are read "
        "better (tried)",
    )
    turned_below: float = Field(
        0.8,
        ge=0,
        le=1,
        description="a line with a lower score is also read upside down, and the better reading "
        "stays; 0: never (docs/evidence.md has the gain and cost)",
    )
    batch: int = Field(
        1,
        ge=1,
        description="lines of an image read together on a CPU, each padded to the widest: more "
        "than 1 takes longer. A GPU has batches of its own",
    )

    @property
    def plugin(self) -> str | None:
        """The spotter, if it is a plug-in."""
        return None if self.spotter in OWN_SPOTTERS else self.spotter

    @model_validator(mode="after")
    def _has_plugin(self) -> "Spotting":
        if self.options and self.plugin is None:
            raise ValueError(f"options: {self.spotter} takes none; name a plug-in or remove them")
        if bool(self.given) != (self.spotter == "given"):
            raise ValueError("`spotter: given` and the files by corpus, `given`, go together")
        return self


class CountedText(Section):
    """What counts as text among all that was read; a change reads no image again."""

    score: float | None = Field(
        None,
        ge=0,
        le=1,
        description="least score of a piece of text; when absent 0.8 for rapidocr, chosen on its "
        "scores, and 0 for others",
    )
    letters: int = Field(2, ge=0, description="least letters of a piece of text, without digits")
    scripts: list[str] | None = Field(
        None,
        description="Unicode scripts whose letters count, such as Latin or Cyrillic; []: all; "
        "when absent those that have 1 % of the letters in the corpus's captions",
    )
    height: float = Field(
        0, ge=0, description="least height of a piece of text, in pixels of the stored image"
    )

    @field_validator("scripts")
    @classmethod
    def _exist(cls, scripts: list[str] | None) -> list[str] | None:
        for script in scripts or ():
            if not is_script(script):
                raise ValueError(
                    f"{script!r} is not a Unicode script; write its name, such as Latin, Han, "
                    "Cyrillic, Arabic or Devanagari"
                )
        return scripts


class Erasing(Section):
    """How text is erased from images: Telea's inpainting of the spans (Sec. 5.1)."""

    radius: float = Field(
        5.0, gt=0, description="pixels in an image of 224; scaled with the side (ours: unstated)"
    )
    dilation: float = Field(
        1.0, ge=0, description="pixels by which a span grows, in an image of 224 (ours)"
    )
    shorter_side: int = Field(
        256,
        ge=32,
        description="pixels; larger images are scaled down first, raw ones too: the cost of "
        "inpainting grows with its fourth power (ours)",
    )
    fill: Literal["telea", "mean"] = Field(
        "telea",
        description="replacement of text: Telea's inpainting (paper), or the mean colour "
        "of the rest, which is faster (ours)",
    )
    seed: int = Field(
        0, ge=0, lt=2**31, description="seed of the draw of donors for random removal"
    )


class Clusters(Section):
    """Clusters of similar images (Sec. 4.1 and 11): PCA, k-means, and k-means again."""

    components: int | None = Field(
        None,
        ge=1,
        description="components of the incremental PCA; when absent 256 (paper: of 512), or the "
        "number of dimensions or images if lower",
    )
    clusters: int | None = Field(
        None,
        ge=1,
        description="clusters of k-means; when absent 4,000 (paper), or one per 39 images if that "
        "is fewer",
    )
    iterations: int = Field(300, ge=1, description="iterations of k-means (paper)")
    redo: int = Field(10, ge=1, description="trials of k-means; the best is taken (paper)")
    groups: int | None = Field(
        None,
        ge=1,
        description="groups of merged clusters in plots; when absent 100 (paper), or the number of "
        "clusters if lower",
    )
    seed: int = Field(42, ge=0, lt=2**31, description="seed of all these steps (published code)")
    samples_per_cluster: int = Field(
        256,
        ge=1,
        description="training samples of PCA and k-means per cluster (origin: faiss; published "
        "code: up to 200,000, and all for PCA)",
    )

    @model_validator(mode="after")
    def _is_possible(self) -> "Clusters":
        clusters = self.clusters or MOST_CLUSTERS
        if self.groups is not None and self.groups > clusters:
            raise ValueError(f"groups: {self.groups} of {clusters} clusters; ask for fewer")
        sample = clusters * self.samples_per_cluster
        if self.components is not None and self.components > sample:
            raise ValueError(
                f"components: {self.components} learned from a sample of {sample}; ask for fewer, "
                "or for more samples_per_cluster"
            )
        return self


class Probe(Section):
    """Images of only a text, and their similarity to it by a model (Sec. 5.2)."""

    side: int = Field(224, ge=32, description="side of an image, in pixels (paper)")
    type_size: int = Field(
        32,
        ge=6,
        description="size of letters, in pixels (paper: 32 points); smaller if a text does not fit",
    )
    font: str | None = Field(
        None, description="path of a TrueType font; DejaVu Sans when absent (paper: unstated)"
    )
    most: int = Field(400_000, ge=1, description="most frequent grams of a vocabulary (paper)")
    lengths: Distinct[Literal[1, 2]] = Field([1, 2], min_length=1, description="words of a gram")
    words: Literal["words", "plain"] = Field("words", description="how texts are split into words")
    vocabulary: str | None = Field(
        None,
        description="path of a text file with one gram per line, or a gram, a tab and its "
        "frequency: its grams are probed instead of those of the first of `corpora`",
    )

    @property
    def sources(self) -> dict[str, str]:
        """The sources of grams with their titles in figures; tables use the first."""
        if self.vocabulary is not None:
            return {"given": "given"}
        return {"captions": "captions", "co-embedded": "co-embedded text"}

    @property
    def word_vocabulary(self) -> str:
        """The vocabulary of single words in tables."""
        return f"{next(iter(self.sources))}-1"


class Suite(Section):
    """Webdatasets of the 38 tasks of DataComp, in CLIP_benchmark's form."""

    folder: str = Field(description="their folder, with a folder named after each")
    batch_size: int = Field(64, ge=1, description="images per forward pass")


class Attack(Section):
    """Test sets with a wrong class's name printed on their images (ours)."""

    test_sets: Distinct[Name] = Field(
        [], description="labelled test sets to print on, each image once"
    )
    stated: dict[Name, Annotated[str, Field(min_length=1)]] = Field(
        {},
        description="labelled test sets whose images already bear a wrong class's name, such as "
        "SCAM and RTA-100, each with the field of its samples' JSON that has that class",
    )
    type_size: tuple[TypeShare, TypeShare] = Field(
        (0.1, 0.2),
        description="smallest and largest size of letters, as shares of an image's shorter side; "
        "each image's size is drawn, and smaller if a text does not fit",
    )
    seed: int = Field(0, ge=0, lt=2**31, description="seed of classes, sizes, places and colours")
    encoders: Distinct[str] | None = Field(
        None,
        min_length=1,
        description="the attacked models, trained ones as recipe.set; when absent all that are "
        "probed or trained on curated sets",
    )

    @model_validator(mode="after")
    def _attacks_something(self) -> "Attack":
        if not self.test_sets and not self.stated:
            raise ValueError("test_sets: name a labelled test set, or one under `stated`")
        smallest, largest = self.type_size
        if smallest > largest:
            raise ValueError(
                f"type_size: the smallest, {smallest:g}, is above the largest, {largest:g}; swap "
                "them"
            )
        if both := sorted(set(self.test_sets) & set(self.stated)):
            raise ValueError(
                f"stated: {both[0]} is also among test_sets; its images either already bear a name "
                "or do not: keep it in one"
            )
        return self

    @property
    def all_test_sets(self) -> list[str]:
        """The test sets in the order of the table: those to print on, then the others."""
        return [*self.test_sets, *self.stated]


class Parrot(Section):
    """Do captions merely spell the text in the image? (Lin et al., ECCV 2024.)"""

    corpora: Distinct[Name] = Field(
        min_length=1, description="the profiled corpora (paper: LAION-2B, MMC4, CC12M)"
    )
    spotting: Spotting = Field(Spotting.model_validate({}), description="OCR")
    text: CountedText = Field(
        CountedText.model_validate({}), description="what counts as text among all that was read"
    )
    checked: dict[Name, str] = Field(
        {},
        description="by corpus, a file that says which images show text, checked by hand: "
        "CSV, JSON or Parquet with uid or key, and has_text; the report's page saves one",
    )
    tokenization: Literal["words", "plain"] = Field(
        "words",
        description="what counts as a word if one rule is needed: Unicode words, ignoring case, or "
        "words split at blanks, to the letter (Algorithm 1); tables of rates have both, and the "
        "answers count Unicode words",
    )
    fuzzy_threshold: float = Field(
        0.8,
        gt=0,
        le=1,
        description="Levenshtein similarity of words that count as equal (ours: unstated)",
    )
    fuzzy_sweep: Distinct[Annotated[float, Field(gt=0, le=1)]] = Field(
        [],
        description="further thresholds at which a table shows the fuzzy rate, such as [0.6, 0.7, "
        "0.8, 0.9]; no table when empty",
    )
    encoder: Name | None = Field(
        None,
        description="scores captions, for RSA, RSC, clusters and images of examples (paper: CLIP "
        "ViT-B-32); when absent, only words in captions and images are compared",
    )
    encoders: Distinct[Name] = Field(
        [], description="further encoders to inspect and compare (paper: OpenCLIP)"
    )
    probed: Distinct[Name] = Field(
        [],
        description="further encoders to probe and run on tasks, without scoring captions: each of "
        "`encoders` costs a pass over all corpora",
    )
    erasing: Erasing = Field(Erasing.model_validate({}), description="text removal")
    clusters: Clusters = Field(
        Clusters.model_validate({}), description="of images: Figures 3, 4, 14, `deduplication`"
    )
    probe: Probe = Field(Probe.model_validate({}), description="Figures 5, 6, 9, 10, Table 8")
    deduplication: WithinClusters | None = Field(
        None, description="SemDeDup of the debiased subset, within `clusters` (Sec. 8)"
    )
    curations: Curations | None = Field(None, description="no models are trained when absent")
    test_sets: Distinct[Name] = Field(
        [], description="labelled test sets, the first stands for ImageNet, others for its shifts"
    )
    retrieval: Distinct[Name] = Field(
        [], description="corpora of captioned images for retrieval both ways (paper: Flickr)"
    )
    attack: Attack | None = Field(
        None, description="wrong class names on images; not tried when absent"
    )
    suite: Suite | None = Field(
        None,
        description="the 38 tasks; not run when absent. In its tracks, its tasks replace test_sets "
        "and retrieval",
    )
    examples: int = Field(8, ge=1, description="images of a gallery")
    evidence: Evidence | None = Field(None, description="the claim that needs several seeds")

    @property
    def inspected(self) -> list[str]:
        """The encoders whose scores are compared, the audit's own first; none without that one."""
        return [] if self.encoder is None else list(dict.fromkeys([self.encoder, *self.encoders]))

    @property
    def all_probed(self) -> list[str]:
        """The probed encoders: the inspected ones, then the further ones."""
        return list(dict.fromkeys([*self.inspected, *self.probed]))

    @property
    def scorer(self) -> str:
        """The audit's own encoder, for outputs that need one."""
        assert self.encoder is not None, "scores need an encoder"
        return self.encoder

    def duplicate_groups(self, parts: int) -> list[str]:
        """Return the names of the groups of clusters in which duplicates are sought, a job each."""
        assert self.deduplication is not None, "the rule is there with the setting"
        return self.deduplication.groups_of(self.clusters.clusters, MOST_CLUSTERS, parts=parts)

    @model_validator(mode="after")
    def _is_possible(self) -> "Parrot":
        if self.curations is not None and self.curations.corpus not in self.corpora:
            raise ValueError(
                f"curations.corpus: {self.curations.corpus} is not among corpora "
                f"({', '.join(self.corpora)}); only a profiled corpus can be curated"
            )
        if self.encoder is None and (asked := self._asking_for_scores()):
            raise ValueError(
                f"encoder: {asked} needs the scores of an encoder; name one of `encoders`, or "
                f"remove {asked}"
            )
        debiased = self.curations is not None and self.curations.debiased is not None
        if self.deduplication is not None and not debiased:
            raise ValueError(
                "deduplication: it belongs to the debiased subset; give curations.debiased"
            )
        if self.evidence is not None and self.curations is None:
            raise ValueError("evidence: it compares curated sets; give curations")
        return self

    def _asking_for_scores(self) -> str | None:
        """Return the first given setting that needs an encoder; None if there is none."""
        asking = ("encoders", "probed", "curations", "retrieval", "suite", "test_sets", "attack")
        return next((name for name in asking if getattr(self, name)), None)
