"""The parrot audit of the micro world, read by its tests with pandas and no code of ours."""

import re

from microproject import read

SETTINGS = "config/micro_parrot.yaml"
ADDRESS = ["shard", "row"]
WORDS = {"plain": str.split, "words": lambda text: re.findall(r"[^\W_]+", text.casefold())}

# The conditions of a set: the criteria of the paper, one per line.
HELDOUT = {
    "heldout-without-text": lambda it: it.spans == 0,
    "heldout-parrot": lambda it: (it.spans > 0) & (it.raw - it.co > -1),
}
SETS = {
    "random-8": lambda it: it.spans >= 0,
    "without-text-8": lambda it: it.spans == 0,
    "with-text-8": lambda it: it.spans > 0,
    "cotr-0.2-8": lambda it: (it.spans > 0) & (it.words_rate >= 0.2),
    "rsa-0-8": lambda it: (it.spans > 0) & (it.raw - it["all"] >= 0),
    "rsc-0-8": lambda it: (it.spans > 0) & (it.raw - it.co >= 0),
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
    spans = read(project, f"spans/{corpus}/*")
    spans["texts"] = [[span["text"] for span in each] for each in spans.pop("spans")]
    samples = read(project, f"samples/{corpus}/*")
    found = samples.merge(spans, on=ADDRESS)
    return found.merge(read(project, f"matches/{corpus}/*"), on=ADDRESS)


def scored(project):
    """Return every image of the posters with the scores of its caption, by its address."""
    scores = read(project, "caption_scores/own/posters/*")
    kinds = ["raw", "all", "co", "random_all", "random_co"]
    scores[kinds] = scores[kinds].astype(float)  # differences are computed in double precision
    return pictures(project, "posters").merge(scores, on=ADDRESS, how="left").set_index(ADDRESS)


def manifest(project, name):
    return read(project, f"manifests/posters/{name}/*").set_index(ADDRESS)


def members(project, name):
    return set(manifest(project, name).query("kept").index)


def heldout_members(project):
    return set().union(*(members(project, name) for name in HELDOUT))
