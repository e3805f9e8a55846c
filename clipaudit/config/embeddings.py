"""Section of precomputed embeddings, and its checks against the other sections."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from clipaudit.config.base import Name, Section
from clipaudit.config.checks import known
from clipaudit.config.pictures import has_pictures
from clipaudit.corpora.parts import expand_shards
from clipaudit.errors import ConfigError

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


class GivenEmbeddings(Section):
    """Precomputed embeddings of a corpus by an encoder: arrays and their metadata.

    Row n of an array is row n of the Parquet file at the same position in the list.
    """

    corpus: Name = Field(description="the corpus whose images were embedded")
    encoder: Name = Field(
        description="the name under `encoders` of the model that computed them; it also embeds the "
        "test sets here"
    )
    arrays: str | list[str] = Field(
        description="`.npy` or `.npz` files, one embedding per row; `{0..3}` stands for a range"
    )
    array: str | None = Field(None, description="`.npz`: the name of the array (DataComp: l14_img)")
    metadata: str | list[str] = Field(description="Parquet files, one for each array, in its order")
    column: str = Field(description="the metadata column that identifies a row's sample")
    join_on: Literal["key", "uid", "url", "row"] = Field(
        "key",
        description="what the column holds; `url` is the one in the sample's JSON; `row`: nothing "
        "is compared, because the same metadata files list the corpus",
    )
    may_lack: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="share of a part's samples that may lack an embedding: they are dropped with a "
        "reason; a larger share is an error",
    )

    @property
    def array_files(self) -> list[str]:
        """The paths of the arrays."""
        return expand_shards(self.arrays)

    @property
    def metadata_files(self) -> list[str]:
        """The paths of the metadata, one for each array."""
        return expand_shards(self.metadata)

    @model_validator(mode="after")
    def _pairs_of_files(self) -> "GivenEmbeddings":
        try:
            arrays, metadata = self.array_files, self.metadata_files
        except ConfigError as error:
            raise ValueError(str(error)) from error
        if len(arrays) != len(metadata):
            raise ValueError(
                f"{len(arrays)} arrays but {len(metadata)} metadata files: row n of an array is "
                "row n of its file, so give one file per array"
            )
        endings = {path.rpartition(".")[2] for path in arrays}
        if endings not in ({"npy"}, {"npz"}):
            raise ValueError(f"arrays end in {', '.join(sorted(endings))}, not all in npy or npz")
        if (self.array is None) != (endings == {"npy"}):
            raise ValueError("`array` names one of the arrays of .npz files; .npy files have one")
        return self


def check_embeddings(run: "Settings") -> None:
    """Reject embeddings that do not fit the other sections."""
    taken: dict[tuple[str, str], str] = {}
    for name, given in run.embeddings.items():
        where = f"embeddings.{name}"
        known(given.corpus, run.corpora, f"{where}.corpus", "corpora")
        known(given.encoder, run.encoders, f"{where}.encoder", "encoders")
        if run.corpora[given.corpus].is_split:
            raise ValueError(f"{where}.corpus: {given.corpus} is a split; name its corpus")
        if run.encoders[given.encoder].model is not None:
            raise ValueError(f"{where}.encoder: {given.encoder} is trained here; name another")
        listed = run.corpora[given.corpus].metadata
        if given.join_on == "row" and (
            listed is None or run.shards(given.corpus) != given.metadata_files
        ):
            raise ValueError(
                f"{where}.join_on: row is for a corpus whose `metadata` lists the same "
                f"{len(given.metadata_files)} files in their order; join {given.corpus} on another"
            )
        first = taken.setdefault((given.encoder, given.corpus), name)
        if first != name:
            raise ValueError(
                f"{where}: embeddings.{first} has the same corpus and encoder; keep one of them"
            )


def unchecked(run: "Settings") -> list[str]:
    """Return a sentence for each corpus whose given embeddings cannot be compared with images."""
    return [
        f"The check that {given.encoder} computed the embeddings of {run.title(given.corpus)}, "
        "which has no images."
        for given in run.embeddings.values()
        if not has_pictures(run, given.corpus)
    ]
