"""Pages for checking images of a corpus by hand, with one question for each.

The images are a uniform sample, so their rates, with exact intervals, estimate those of the corpus.
The answers leave the page only as a saved file, which the settings then name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
from markupsafe import Markup

from clipaudit.catalog.lockable import lockable
from clipaudit.catalog.parts import AuditPart, audit_part
from clipaudit.catalog.samples.catalog import Address
from clipaudit.catalog.samples.fate import fate_at
from clipaudit.catalog.sqltext import identifier
from clipaudit.catalog.tables import view_columns
from clipaudit.config.pictures import has_pictures
from clipaudit.config.settings import Settings
from clipaudit.errors import InputError
from clipaudit.plaintext import plain
from clipaudit.reports.contents import Look, contents
from clipaudit.site.samples import Excerpt, ShownPicture, excerpt

PICTURES = 100
SEED = 0


@dataclass(frozen=True)
class LookedAt:
    """An image of a page; `shapes` are SVG in pixels of the stored image."""

    address: Address
    uid: str
    width: int
    height: int
    shapes: Markup
    picture: ShownPicture = field(default_factory=ShownPicture)


@dataclass(frozen=True)
class LookPage:
    """A page; its path is relative to the report."""

    look: Look
    corpus_title: str
    pictures: tuple[LookedAt, ...]

    @property
    def path(self) -> str:
        """Return the path of the page, relative to the report."""
        return f"look/{self.look.setting}.html"

    @property
    def saved(self) -> str:
        """Return the name of the file of answers."""
        return f"{self.look.setting}.csv"


def look_pages(catalog: Path, run: Settings) -> list[LookPage]:
    """Return the pages that the audits of a run ask for, without their images."""
    found = []
    for audit, _ in run.audits():
        for look in contents(audit).looks(run):
            if not has_pictures(run, look.corpus):
                continue
            addresses = _drawn(catalog, look)
            if pictures := tuple(_looked_at(catalog, audit_part(audit), addresses)):
                found.append(LookPage(look, plain(run.title(look.corpus)), pictures))
    return found


def with_pictures(page: LookPage, written: Mapping[Address, ShownPicture]) -> LookPage:
    """Return a page with its images, without those that cannot be shown."""
    shown = (replace(each, picture=written[each.address]) for each in page.pictures)
    return replace(page, pictures=tuple(each for each in shown if each.picture.path))


def _drawn(catalog: Path, look: Look) -> list[Address]:
    """Return the samples with the lowest digest of seed and address, whatever the row order."""
    with (
        lockable(catalog) as readable,
        duckdb.connect(str(readable), read_only=True) as connection,
    ):
        if not {"corpus", "shard", "row"} <= set(view_columns(connection).get(look.view, ())):
            return []
        rows = connection.execute(
            f"select shard, row from {identifier(look.view)} where corpus = $corpus "
            "order by md5(concat_ws(' ', $seed, shard, row)) limit $most",
            {"corpus": look.corpus, "seed": SEED, "most": PICTURES},
        ).fetchall()
    return [Address(look.corpus, shard, row) for shard, row in rows]


def _looked_at(catalog: Path, part: AuditPart, addresses: Iterable[Address]) -> Iterable[LookedAt]:
    """Yield the images of a page, once for each uid, since samples with one uid are equal."""
    met: set[str] = set()
    with excerpt(catalog, addresses) as connection:
        known = Excerpt(connection)
        for each in addresses:
            try:
                fate = fate_at(known, known.find(each.corpus, f"{each.shard}:{each.row}"))
            except InputError:
                continue  # no table reads this corpus, so the catalog lacks its samples
            sample = fate["sample"]
            uid = str(sample["uid"])
            if uid not in met:
                met.add(uid)
                shapes = Markup("".join(part.shapes(fate)))  # escaped where they are made
                yield LookedAt(each, uid, sample["width"], sample["height"], shapes)
