"""Good and bad members, samples and tars for the tests of this folder."""

import io
import json
import tarfile

from PIL import Image


def encode(format="JPEG", size=(6, 5), mode="RGB", color=None, **options):
    """Return an image's bytes; its colour is always the same."""
    out = io.BytesIO()
    Image.new(mode, size, color or 0).save(out, format, **options)
    return out.getvalue()


def member(name, data=b"", kind=tarfile.REGTYPE, **fields):
    """Return a member to write: (TarInfo, data)."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.type = kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def sample(key, *, caption="a cat", image=None, extension="jpg", **fields):
    """Return the members of one good sample."""
    members = [member(f"{key}.{extension}", encode() if image is None else image)]
    if caption is not None:
        members.append(member(f"{key}.txt", caption.encode()))
    if fields:
        members.append(member(f"{key}.json", json.dumps(fields).encode()))
    return members


def tar_bytes(members, format=tarfile.USTAR_FORMAT, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=format, errors="surrogateescape") as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()
