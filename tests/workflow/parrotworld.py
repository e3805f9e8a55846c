"""The parrot audit of the micro world, read by its tests with polars and no code of ours."""

import re

import polars as pl
from microproject import read

SETTINGS = "config/micro_parrot.yaml"
ADDRESS = ["shard", "row"]
WORDS = {"plain": str.split, "words": lambda text: re.findall(r"[^\W_]+", text.casefold())}

SPANS, RATE, RAW, ALL, CO = map(pl.col, ("spans", "words_rate", "raw", "all", "co"))
# The conditions of a set: the criteria of the paper, one per line.
HELDOUT = {
    "heldout-without-text": SPANS == 0,
    "heldout-parrot": (SPANS > 0) & (RAW - CO > -1),
}
SETS = {
    "random-8": SPANS >= 0,
    "without-text-8": SPANS == 0,
    "with-text-8": SPANS > 0,
    "cotr-0.2-8": (SPANS > 0) & (RATE >= 0.2),
    "rsa-0-8": (SPANS > 0) & (RAW - ALL >= 0),
    "rsc-0-8": (SPANS > 0) & (RAW - CO >= 0),
}
MADE = " ".join(
    f"results_micro/{path}.json"
    for path in (
        "tables/parrot_table1",
        "tables/parrot_truth",
        "figures/parrot_fig1_posters",
        "models/brief/cotr-0.2-8",
        *(
            f"manifests/posters/{name}/{part}"
            for name in (*HELDOUT, *SETS, "debiased")
            for part in ("00000", "00001")
        ),
    )
)


def pictures(project, corpus):
    """Return every spotted image with its caption, the texts in it, and their matches."""
    texts = pl.col("spans").list.eval(pl.element().struct.field("text"))
    spans = read(project, f"spans/{corpus}/*").select(*ADDRESS, texts=texts)
    matches = read(project, f"matches/{corpus}/*")
    found = read(project, f"samples/{corpus}/*").join(spans, on=ADDRESS, maintain_order="left")
    return found.join(matches, on=ADDRESS, maintain_order="left")


def scored(project):
    """Return every image of the posters with the scores of its caption."""
    scores = read(project, "caption_scores/own/posters/*")
    scores = scores.cast({pl.Float32: pl.Float64})  # differences are computed in double precision
    assert scores.equals(scores.fill_nan(None))  # polars' NaN is larger than any number
    return pictures(project, "posters").join(scores, on=ADDRESS, how="left", maintain_order="left")


def addresses(rows):
    return set(rows.select(ADDRESS).iter_rows())


def manifest(project, name):
    return read(project, f"manifests/posters/{name}/*")


def members(project, name):
    return addresses(manifest(project, name).filter("kept"))


def heldout_members(project):
    return set().union(*(members(project, name) for name in HELDOUT))
