"""The settings of the report that people open."""

from pydantic import Field

from clipaudit.config.base import Section


class Report(Section):
    """What the report and the galleries show."""

    title: str = Field(default="Training data audit", description="heading of the report")
    pictures: bool = Field(
        default=True,
        description="whether pictures of the corpora may be shown; if not, placeholders with the "
        "samples' uids stand in galleries and pages; captions and spotted words stay",
    )
    samples: int = Field(
        default=200,
        ge=0,
        description="pages of single samples at most, of those that galleries show",
    )
