"""A clip art library of a few drawings, in the folders of the real one, and as .deb files."""

import io
import json
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

from PIL import Image

from clipaudit.corpora.shards import raw_samples

SVG = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:dc="http://purl.org/dc/elements/1.1/"
     xmlns:cc="http://web.resource.org/cc/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <metadata><rdf:RDF><cc:Work rdf:about="">
    <dc:title>{title}</dc:title>
    <dc:description></dc:description>
    <dc:subject><rdf:Bag><rdf:li>bird</rdf:li><rdf:li>owl</rdf:li><rdf:li>bird</rdf:li></rdf:Bag>
    </dc:subject>
    <dc:publisher><cc:Agent><dc:title>Open Clip Art Library</dc:title></cc:Agent></dc:publisher>
    <dc:creator><cc:Agent><dc:title>Jean Doe</dc:title></cc:Agent></dc:creator>
  </cc:Work></rdf:RDF></metadata>
  {body}
</svg>"""


def svg(title="An owl", body=""):
    return SVG.format(title=title, body=body).encode()


def png(colour=(200, 30, 40, 255), size=(6, 4), mode="RGBA"):
    file = io.BytesIO()
    Image.new(mode, size, colour).save(file, "PNG")
    return file.getvalue()


def huge_png(width, height):
    """A file of a few bytes whose head states a size."""
    head = b"IHDR" + struct.pack(">II", width, height) + png()[24:29]
    return png()[:12] + head + struct.pack(">I", zlib.crc32(head)) + png()[33:]


def put(folder, name, picture=None, drawing=None):
    """Put a drawing into `folder`; `drawing=b""` omits its SVG."""
    drawing = svg() if drawing is None else drawing
    for kind, content in (("png", picture or png()), ("svg", drawing)):
        if content:
            path = folder / kind / f"{name}.{kind}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def library(folder, count=60):
    """Put `count` drawings of different colours into `folder`, and return it."""
    for number in range(count):
        put(folder, f"shapes/disc_{number:02d}", png((number, 255 - number, 90, 255)))
    return folder


def deb(path, package, files):
    """Build a .deb of the files of a folder, as the real packages have them."""
    root = path.parent / f"{path.name}.d"
    where = root / "usr/share/openclipart"
    where.mkdir(parents=True)
    shutil.copytree(files, where / files.name, symlinks=True)
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(
        f"Package: {package}\nVersion: 1:0.18-1\nArchitecture: all\n"
        "Maintainer: nobody <nobody@example.org>\nDescription: clip art\n"
    )
    subprocess.run(
        ["dpkg-deb", "--build", "--root-owner-group", str(root), str(path)],
        check=True,
        capture_output=True,
    )
    return path


def samples(tar):
    """The samples of a tar: key, image, caption, JSON."""
    return [
        (
            sample.key,
            sample.members["png"],
            sample.members["txt"].decode(),
            json.loads(sample.members["json"]),
        )
        for sample in raw_samples(Path(tar))
    ]
