"""Lists the images of MMC4's documents for img2dataset, each with its matched sentence.

Zhu et al., NeurIPS 2023: https://arxiv.org/abs/2304.06939; fields as in https://github.com/allenai/mmc4.
A document has `text_list`, and for each image in `image_info` its `raw_url` and, by
`matched_text_index`, one sentence. The parrot-caption paper uses that sentence as its caption.
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.corpora.statements import is_finite, is_text, shown_value, stated_fields
from clipaudit.errors import InputError
from clipaudit.plaintext import many, plain
from clipaudit.store.outputs import replaced

# One row per image of a document; img2dataset downloads `url`, and `caption` becomes its `.txt`.
IMAGES = pa.schema(
    [
        pa.field("url", pa.string(), nullable=False),
        pa.field("caption", pa.string(), nullable=False),
        pa.field("image_name", pa.string()),
        pa.field("matched_sim", pa.float64()),  # cosine by CLIP ViT-L/14, as MMC4 states it
    ]
)
_ENDINGS = (".jsonl", ".jsonl.zip")
_ROWS_AT_ONCE = 65_536  # memory, never results
_LONGEST_LINE = 1 << 26  # characters of a document: a zip may contain an endless line


def list_images(folder: Path, lists: Path) -> list[str]:
    """Write a Parquet file of IMAGES into `lists` for each file of documents in `folder`.

    Files end in `.jsonl` or `.jsonl.zip`, one document per line; they are read in the order of
    their names, and each list has its file's name. Images are in the order of the documents. Return
    lines to print: the counts, and the next steps. Raise InputError, with the file and the line,
    for a line that is not a document, and if there is no file or no image.
    """
    files = sorted(path for path in folder.iterdir() if path.name.endswith(_ENDINGS))
    if not files:
        raise InputError(
            f"{folder}: no file ends in {' or '.join(_ENDINGS)}. Name the folder of MMC4's "
            "documents."
        )
    lists.mkdir(parents=True, exist_ok=True)
    written = [
        _write_list(path, lists / f"{path.name.partition('.jsonl')[0]}.parquet") for path in files
    ]
    images, documents = sum(each for each, _ in written), sum(each for _, each in written)
    if not images:
        raise InputError(f"{folder}: {many(documents, 'document')} without an image. Name another.")
    return [
        f"{many(images, 'image')} of {many(documents, 'document')}, in {many(len(files), 'list')}",
        "Download the images, then import them:",
        f"  img2dataset --url_list {plain(lists)} --input_format parquet --url_col url "
        "--caption_col caption --output_format webdataset --output_folder IMAGES",
        "  clipaudit import img2dataset IMAGES --name mmc4",
    ]


def _write_list(path: Path, target: Path) -> tuple[int, int]:
    """Return how many images and documents there are."""
    images = documents = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal documents
        for documents, (place, document) in enumerate(_documents(path), 1):  # noqa: B007
            yield from _images(document, place)

    found = rows()
    with replaced(target) as part, pq.ParquetWriter(part, IMAGES) as writer:
        while batch := list(islice(found, _ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(batch, IMAGES))
            images += len(batch)
    return images, documents


def _documents(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        with _opened(path) as lines:
            for number, line in enumerate(lines, 1):
                place = f"{path}, line {number}"
                if len(line) >= _LONGEST_LINE:
                    raise InputError(
                        f"{place}: {_LONGEST_LINE} characters or more, longer than any document of "
                        "MMC4. Fetch the file again."
                    )
                if line.strip():
                    yield place, stated_fields(line, place)
    except (OSError, EOFError, UnicodeDecodeError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {error}. Fetch it again.") from error


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[str]]:
    """Open the lines of a file; a zip gives those of all its members, in order."""
    if path.suffix != ".zip":
        with path.open(encoding="utf-8") as file:
            yield _lines(file)
        return
    with zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if name.endswith(".jsonl")]
        yield chain.from_iterable(_member(archive, name) for name in members)


def _member(archive: zipfile.ZipFile, name: str) -> Iterator[str]:
    with archive.open(name) as file, TextIOWrapper(file, encoding="utf-8") as text:
        yield from _lines(text)


def _lines(text: TextIOWrapper) -> Iterator[str]:
    return iter(lambda: text.readline(_LONGEST_LINE), "")


def _images(document: dict[str, Any], place: str) -> Iterator[dict[str, Any]]:
    texts, infos = document.get("text_list"), document.get("image_info")
    if not isinstance(texts, list) or not isinstance(infos, list):
        name = "image_info" if isinstance(texts, list) else "text_list"
        raise InputError(
            f"{place}: {name} is {shown_value(document.get(name))}, expected a list. Give MMC4's "
            "documents, which have the lists text_list and image_info."
        )
    for number, info in enumerate(infos):
        yield _image(texts, info if isinstance(info, dict) else {}, f"{place}: image {number}")


def _image(texts: list[Any], info: dict[str, Any], place: str) -> dict[str, Any]:
    url, at = info.get("raw_url"), info.get("matched_text_index")
    if not is_text(url):
        raise InputError(f"{place}: raw_url is {shown_value(url)}, not text. Fetch the file again.")
    if type(at) is not int or not 0 <= at < len(texts) or not is_text(texts[at]):
        raise InputError(
            f"{place}: matched_text_index is {shown_value(at)}, not the number of one of the "
            f"{len(texts)} texts in text_list. Fetch the file again."
        )
    name, similarity = info.get("image_name"), info.get("matched_sim")
    return {
        "url": url,
        "caption": texts[at],
        "image_name": name if is_text(name) else None,
        "matched_sim": similarity if is_finite(similarity) else None,
    }
