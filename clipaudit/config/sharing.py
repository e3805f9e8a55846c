"""The settings of a group's store: where it lies, who may be believed, whether to add to it."""

from pydantic import Field

from clipaudit.config.base import Section


class SharedStore(Section):
    """A store that several people use: what one has computed, the others take."""

    path: str = Field(description="its folder: what is there is taken instead of computed")
    write: bool = Field(
        default=False, description="whether what is computed here is also put there, for others"
    )
    trusted_writers: list[str] | None = Field(
        default=None,
        description="user names whose results are taken; when absent, those of everybody whom the "
        "permissions of the folder let write there",
    )
