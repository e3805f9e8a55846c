"""A report of a run filled by hand: a table, a figure, a gallery, a corpus of two images."""

import io
import tarfile

import pyarrow as pa
from catalogcases import make_catalog, sample
from handmaderun import HandmadeRun
from PIL import Image

from clipaudit.config.settings import WholeSettings
from clipaudit.reports.rendering import to_csv
from clipaudit.site.build import write_report

HOSTILE = "<script>alert(1)</script>\x1b[31m"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="75pt" height="150pt"></svg>'
UIDS = ["00000000" + "0" * 24, "00000001" + "0" * 24]

GAPS = pa.table(
    {
        "search": [HOSTILE, "b-pruned"],
        "testset_title": ["Val", "Sketch"],
        "images": [2000, 30],
        "below": [2000, 29],
        "ties": [0, 0],
        "above": [0, 1],
        "without_neighbor": [0, 0],
    }
)
SHOWN = pa.table({"corpus": ["web", "web"], "shard": [0, 0], "row": [0, 1], "similarity": [0.5, 1]})
DRAWN = pa.table({"panel_position": [0], "panel_title": ["Val"], "accuracy": [0.5]})
MAP = [{"testset": None, "shard": 0, "row": row, "x": row * 4.0, "y": 1.0} for row in (0, 1)]


class TinySite:
    """The run, and its report once `write` has been called.

    `views` are further ones of its catalog, `sections` further ones of its settings.
    """

    def __init__(self, folder, monkeypatch, *views, **sections):
        catalog = ("samples", {"corpus": "web"}, [sample(0, 0, caption=HOSTILE), sample(0, 1)])
        make_catalog(folder, catalog, *views)
        self.report_settings = sections.pop("report", {})
        self.corpora = {}
        self.sections = sections
        self.made = HandmadeRun(folder, monkeypatch)
        self.tar = folder / "00000.tar"
        self.tar.write_bytes(_tar())
        tar = self.made.shard(str(self.tar))
        self.samples = self.made.act(
            "index", {"samples/web/00000.json": ({"corpus": "web"}, "rows")}, {"tars": [tar]}
        )
        self.add_table("similarity_gap_check", GAPS)
        self._act(
            "report_gallery", "figures/similarity_fig2", SHOWN, svg=SVG, png="png", caption=HOSTILE
        )
        self._act(
            "report_figure", "figures/similarity_fig3", DRAWN, svg=SVG, png="png", caption="c"
        )
        self.results, self.report = folder / "results", folder / "results" / "report"

    def add_table(self, name, table):
        """Add a report table to the run."""
        self._act("report_table", f"tables/{name}", table, tex="latex", caption="c")

    def _act(self, step, path, table, caption, **texts):
        forms = {"csv": to_csv(table), "md": "markdown", **texts}
        outputs = {f"{path}.{name}.json": ({}, text) for name, text in forms.items()}
        outputs[f"{path}.json"] = ({}, table)
        self.made.act(step, outputs, {"samples": self.samples}, caption=caption)

    def write(self, **settings):
        """Write the report with these settings of it; returns its folder."""
        run = WholeSettings(
            results=str(self.results),
            store=str(self.made.store.root),
            corpora={"web": {"shards": str(self.tar)}, **self.corpora},
            report=self.report_settings | settings,
            **self.sections,
        )
        tables = [
            path for path in (self.results / "tables").iterdir() if path.suffixes == [".json"]
        ]
        figures = [self.results / "figures" / f"similarity_fig{n}.json" for n in (2, 3)]
        write_report(self.report, run, self.made.store, tables, figures)
        return self.report

    def page(self, path, **settings):
        """Write the report and return the text of one of its pages."""
        return (self.write(**settings) / path).read_text()


def mapped_site(folder, monkeypatch, *views, points=MAP):
    """A site with a map of both images of `web`; a manifest keeps the second."""
    manifest = [
        {"shard": 0, "row": 0, "kept": False, "reason": HOSTILE},
        {"shard": 0, "row": 1, "kept": True, "reason": None},
    ]
    views = [
        ("maps", {"encoder": "own", "corpus": "web"}, points),
        ("manifests", {"corpus": "web", "pruning": "pruned"}, manifest),
        *views,
    ]
    sections = {
        "encoders": {"own": {"plugin": "pillow"}},
        "report": {"maps": {"of": ["own/web"]}},
    }
    return TinySite(folder, monkeypatch, *views, **sections)


def asking_site(folder, monkeypatch):
    """Return a site of a run that reads text, which it found in the first of both images."""
    polygon = [1.0, 1.0, 7.0, 1.0, 7.0, 5.0]
    span = {"text": HOSTILE, "score": 0.9, "polygon": polygon, "words": None}
    labels, rows = {"corpus": "web"}, [{"shard": 0, "row": row} for row in (0, 1)]
    spans = [rows[0] | {"spans": [span]}, rows[1] | {"spans": []}]
    matches = [row | {"spans": 1 - row["row"]} for row in rows]
    views = ("spans", labels, spans), ("matches", labels, matches)
    return TinySite(folder, monkeypatch, *views, parrot={"corpora": ["web"]})


def _tar():
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for number in range(2):
            picture = io.BytesIO()
            Image.new("RGB", (8, 8), (number, 9, 9)).save(picture, "PNG")
            for name, data in {"png": picture.getvalue(), "txt": b"a"}.items():
                member = tarfile.TarInfo(f"{number:06}.{name}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
    return written.getvalue()
