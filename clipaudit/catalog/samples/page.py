"""Render one sample's fate as a page: HTML in one file, with its image, that loads nothing."""

import base64
import hashlib
import io
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from clipaudit.catalog.parts import audit_parts
from clipaudit.catalog.samples.forms import Fate, Section, escaped, place
from clipaudit.catalog.samples.sections import facts, sections, sentences
from clipaudit.corpora.addresses import sample_address
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.lookup import read_pictures
from clipaudit.errors import InputError
from clipaudit.plaindata import Row
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.store import Store

_EMBEDDED = {"jpeg": "image/jpeg", "png": "image/png", "webp": "image/webp"}
_MOST_BYTES = 1 << 20  # of an image embedded unchanged; larger ones are scaled down
_LONGEST_SIDE = 1024  # pixels of an image that is scaled down
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --text: #c33; --object: #27c; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 70rem; padding: 1rem; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dd { margin: 0; overflow-wrap: anywhere; } dt { opacity: .7; }
figure { margin: 1rem 0; max-width: 30rem; } .picture { position: relative; }
.picture img { display: block; width: 100%; height: auto; image-orientation: none; }
.picture svg { position: absolute; inset: 0; width: 100%; height: 100%; }
.picture .text { fill: none; stroke: var(--text); }
.picture .object { fill: none; stroke: var(--object); }
.row { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: start; }
.small { max-width: 12rem; } .small img { width: 100%; image-orientation: none; }
.hidden { border: 1px dashed; padding: 3rem 1rem; text-align: center; overflow-wrap: anywhere; }
.table { overflow-x: auto; } table { border-collapse: collapse; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .8rem .2rem 0; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
"""
_STYLE_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; img-src data:; style-src 'sha256-{_STYLE_DIGEST}'"


def read_picture(sample: Row, store: Store | None) -> bytes:
    """Return the image file of a sample (`sample_fate(...)["sample"]`) from its shard.

    The shard is looked for at the run's path, then where the store saw its bytes. Raises InputError
    if it is gone or now holds another image, for a sample that the index dropped, and for a corpus
    without images.
    """
    if "image_sha256" not in sample:
        raise InputError(
            f"the index dropped {sample['corpus']} {place(sample)}, so its image is not known. "
            "Ask without the image."
        )
    if sample["image_sha256"] is None:
        raise InputError(
            f"{sample['corpus']} has no images: its samples are listed without them. "
            "Ask without the image."
        )
    path = _shard(sample, store)
    address = sample_address(sample["shard"], sample["row"])
    image = read_pictures({sample["shard"]: path}, [address])[address]
    found = hashlib.sha256(image).hexdigest()
    if found != sample["image_sha256"]:
        raise InputError(
            f"{path}: the image of row {sample['row']} has SHA-256 {found[:12]}..., the index has "
            f"{sample['image_sha256'][:12]}.... Restore the shard, or run the workflow again."
        )
    return image


def _shard(sample: Row, store: Store | None) -> Path:
    named = sample["shard_path"]
    if named is not None and Path(named).is_file():
        return Path(named)
    if store is not None and store.root.is_dir() and sample["shard_sha256"] is not None:
        return FileDigests(store.root / "files").locate(sample["shard_sha256"])
    raise InputError(
        f"{named or 'shard ' + str(sample['shard'])}: no such file. "
        "Run the command where the workflow ran, or name the store with --store."
    )


def picture_uri(image: bytes) -> str:
    """Return an image as a data URI that browsers show; large ones are scaled down."""
    picture = open_picture(image, as_shown=True)
    kind = _EMBEDDED.get(picture.format)
    if kind is None or len(image) > _MOST_BYTES:
        smaller = picture.rgb
        smaller.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
        content = io.BytesIO()
        smaller.save(content, "PNG")
        kind, image = "image/png", content.getvalue()
    return f"data:{kind};base64,{base64.b64encode(image).decode()}"


def sample_page(
    fate: Fate,
    picture: str | None,
    hidden: str = "image not shown",
    beside: Sequence[tuple[str, str | None]] = (),
) -> str:
    """Return the page of a fate; `picture` is a data URI, `hidden` its replacement text.

    `beside` lists other samples shown with it, each as words and a data URI or None.

    All text from the data is escaped, and its control characters are spelt out. The page's policy
    makes the browser load and run nothing.
    """
    sample = fate["sample"]
    title = escaped(f"{sample['corpus']} {sample.get('uid') or sample['key']}")
    body = "\n".join([
        f"<h1>{title}</h1>",
        "<dl>",
        *(f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in facts(fate)),
        "</dl>",
        '<div class="row">',
        *_figure(fate, picture, hidden),
        *(_small_figure(*each, hidden) for each in beside),
        "</div>",
        *(f"<p>{escaped(sentence)}</p>" for sentence in sentences(fate)),
        *(line for section in sections(fate) for line in _table(section)),
    ])  # fmt: skip
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n"
        "</html>\n"
    )


def _figure(fate: Fate, picture: str | None, hidden: str) -> Iterator[str]:
    """Yield the image with its detections drawn over it, or a placeholder."""
    sample = fate["sample"]
    if picture is None:
        name = sample.get("uid") or sample["key"]
        yield f'<figure class="hidden">{escaped(hidden)}<br>{escaped(name)}</figure>'
        return
    width, height = sample["width"], sample["height"]
    caption = escaped(sample["caption"] or "")
    yield '<figure><div class="picture">'
    yield f'<img src="{escape(picture)}" width="{width}" height="{height}" alt="{caption}">'
    yield f'<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" aria-hidden="true">'
    for part in audit_parts(fate):
        yield from part.shapes(fate)
    yield f"</svg></div><figcaption>{caption}</figcaption></figure>"


def _small_figure(words: str, picture: str | None, hidden: str) -> str:
    """Return the image of another sample, or a placeholder, with its description."""
    shown = f'<img src="{escape(picture)}" alt="">' if picture else escaped(hidden)
    kind = "small" if picture else "small hidden"
    return f'<figure class="{kind}">{shown}<figcaption>{escaped(words)}</figcaption></figure>'


def _table(section: Section) -> Iterator[str]:
    yield f'<h2>{escaped(section.title)}</h2>\n<div class="table"><table>'
    yield f"<tr>{''.join(f'<th>{escaped(name)}</th>' for name in section.columns)}</tr>"
    for row in section.rows:
        yield f"<tr>{''.join(map(_cell, row))}</tr>"
    yield "</table></div>"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f'<td class="number">{value:.4f}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td class="number">{value}</td>'
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = ", ".join(f"{each:g}" for each in value)
    return f"<td>{'' if value is None else escaped(value)}</td>"
