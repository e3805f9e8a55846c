"""Runs tools that find near duplicates on a planted set, each in its own environment.

    python copypeers.py imagededup planted/ pairs.csv

Writes a line per pair that a tool finds: method, copy, original; and last a line with its total
seconds. `copies.py` runs this, with the Python of an environment that has the tool and not
clipaudit. Every tool runs with its defaults and on one core.
"""

import contextlib
import csv
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

Found = Iterator[tuple[str, str, str]]  # method, and both files, relative to the set


def by_pdqhash(planted: Path) -> Found:
    """Yield pairs whose PDQ hashes differ in at most 31 bits, which its authors recommend."""
    import numpy as np
    import pdqhash
    from PIL import Image

    def code(path: str) -> np.ndarray:
        bits, _ = pdqhash.compute(np.array(Image.open(planted / path)))
        return np.packbits(bits.astype(np.uint8))

    names = files(planted, "originals")
    originals = np.stack([code(path) for path in names])
    for copy in files(planted, "copies"):
        distance = np.bitwise_count(originals ^ code(copy)).sum(axis=1)
        for place in np.flatnonzero(distance <= 31):
            yield "PDQ alone, distance 31", copy, names[place]


def by_imagededup(planted: Path) -> Found:
    """Yield pairs by its four hashes of 64 bits, at a Hamming distance of at most 10.

    Only pairs of a copy and an original are compared.
    """
    import numpy as np
    from imagededup.methods import AHash, DHash, PHash, WHash

    for method in (PHash, DHash, WHash, AHash):
        hasher = method(verbose=False)
        hashes = {
            kind: {
                path: int(hasher.encode_image(image_file=planted / path), 16)
                for path in files(planted, kind)
            }
            for kind in ("copies", "originals")
        }
        originals = np.array(list(hashes["originals"].values()), np.uint64)
        names = list(hashes["originals"])
        for copy, code in hashes["copies"].items():
            distance = np.bitwise_count(originals ^ np.uint64(code))
            for place in np.flatnonzero(distance <= 10):
                yield f"imagededup {method.__name__}", copy, names[place]


def by_cleanvision(planted: Path) -> Found:
    """Yield pairs from its sets of images with equal pixels or equal 64-bit pHash."""
    from cleanvision import Imagelab

    lab = Imagelab(
        filepaths=[str(planted / path) for path in files(planted, "copies", "originals")]
    )
    lab.find_issues({"exact_duplicates": {}, "near_duplicates": {}}, n_jobs=1, verbose=False)
    for kind in ("exact_duplicates", "near_duplicates"):
        for group in lab.info[kind]["sets"]:
            names = [str(Path(path).relative_to(planted)) for path in group]
            yield from (
                ("CleanVision", copy, original)
                for copy in names
                for original in names
                if copy.startswith("copies") and original.startswith("originals")
            )


def by_fastdup(planted: Path) -> Found:
    """Yield pairs by its model's similarity, at least 0.9: each copy's ten most similar originals.

    Two methods are reported: at 0.9, above which its run keeps pairs, and at 0.96, at which it
    groups duplicates. Its error reporting is turned off.
    """
    os.environ["SENTRY_OPT_OUT"] = "1"
    import fastdup
    import pandas

    work = planted / "fastdup"
    settings = {"nearest_neighbors_k": 10, "threshold": 0.9, "num_threads": 1}
    fastdup.run(
        str(planted / "originals"),
        str(work),
        test_dir=[str(planted / path) for path in files(planted, "copies")],
        **settings,
    )
    pairs = pandas.read_csv(work / "similarity.csv")
    for one, other, similarity in pairs[["from", "to", "distance"]].itertuples(index=False):
        names = sorted(str(Path(path).resolve().relative_to(planted)) for path in (one, other))
        if names[0].startswith("copies") and names[1].startswith("originals"):
            yield "fastdup 0.9", *names
            if similarity >= 0.96:
                yield "fastdup 0.96", *names


PEERS: dict[str, Callable[[Path], Found]] = {
    "pdqhash": by_pdqhash,
    "imagededup": by_imagededup,
    "cleanvision": by_cleanvision,
    "fastdup": by_fastdup,
}


def files(planted: Path, *kinds: str) -> list[str]:
    """Return the copies or originals of the set, relative to it, in order."""
    found = [path for kind in kinds for path in (planted / kind).rglob("*.png")]
    return sorted(str(path.relative_to(planted)) for path in found)


def main() -> None:
    """Run one peer and write its findings."""
    peer, planted, answer = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3])
    start = time.process_time()
    with answer.open("w", newline="") as file, contextlib.redirect_stdout(sys.stderr):
        rows = csv.writer(file)
        rows.writerows(PEERS[peer](planted))
        rows.writerow(["seconds", f"{time.process_time() - start:.1f}", ""])


if __name__ == "__main__":
    main()
