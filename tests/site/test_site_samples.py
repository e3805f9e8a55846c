"""The images of the report's samples."""

import io
import tarfile

from PIL import Image

from clipaudit.catalog.samples.catalog import Address
from clipaudit.config.settings import WholeSettings
from clipaudit.site.samples import pictures


def test_a_transparent_image_is_shown_on_white(tmp_path):
    drawn = Image.new("RGBA", (64, 64))
    drawn.paste("black", (0, 0, 32, 32))
    drawn.save(tmp_path / "0.png")
    with tarfile.open(tmp_path / "0.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
        tar.add(tmp_path / "0.png", "0.png")
    run = WholeSettings(corpora={"web": {"shards": str(tmp_path / "0.tar")}})

    (found,) = pictures([Address("web", 0, 0)], run).values()

    shown = Image.open(io.BytesIO(found))
    assert [shown.getpixel((at, at)) for at in (8, 56)] == [(0, 0, 0), (255, 255, 255)]
