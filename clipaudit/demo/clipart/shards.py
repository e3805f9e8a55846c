"""Writes the library's shards: all drawings, shuffled, in tars of a thousand, in parallel."""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from clipaudit.corpora.plain_tars import plain_tar
from clipaudit.demo.clipart.drawings import (
    SETS,
    Drawing,
    Made,
    find_drawings,
    made,
    without_picture,
)
from clipaudit.demo.clipart.packages import RECORD
from clipaudit.progress import Progress
from clipaudit.store.outputs import replaced, write_whole

SAMPLES_PER_SHARD = 1000
SUMMARY = "clipart.json"
_DRAWINGS_AT_ONCE = 8  # given to a process: speed, never results
log = logging.getLogger(__name__)


def write_shards(folder: Path, drawings: Path, *, processes: int) -> dict[str, Any]:
    """Write `folder`/{web,test}/00000.tar and so on; return their content, as in clipart.json.

    The bytes depend on the files below `drawings` and on Pillow, not on `processes`. Surplus tars
    of an earlier call are removed. clipart.json is removed first and written last: if it exists,
    the tars are whole.
    """
    (folder / SUMMARY).unlink(missing_ok=True)
    plan = _plan(folder, find_drawings(drawings))
    total = sum(map(len, plan.values()))
    progress = Progress(log, "clip art", total=total, unit="drawings")
    noted: list[tuple[Drawing, Made]] = []
    with _made_by(processes, [drawing for part in plan.values() for drawing in part]) as samples:
        for tar, part in plan.items():
            noted += _write_tar(tar, part, samples)
            progress.note(len(noted))
    for stale in {tar for name in SETS for tar in (folder / name).glob("*.tar")} - plan.keys():
        stale.unlink()
    summary = _summary(noted, drawings)
    write_whole(folder / SUMMARY, (json.dumps(summary, indent=2, sort_keys=True) + "\n").encode())
    return summary


def _plan(folder: Path, drawings: Sequence[Drawing]) -> dict[Path, list[Drawing]]:
    """Return each tar with its drawings, set by set."""
    plan = {}
    for name in SETS:
        some = [drawing for drawing in drawings if drawing.set == name]
        for number, start in enumerate(range(0, len(some), SAMPLES_PER_SHARD)):
            tar = folder / name / f"{number:05d}.tar"
            plan[tar] = some[start : start + SAMPLES_PER_SHARD]
    return plan


def _write_tar(
    tar: Path, drawings: Sequence[Drawing], samples: Iterator[Made]
) -> list[tuple[Drawing, Made]]:
    """Write the next samples as a tar; return them without their content."""
    tar.parent.mkdir(parents=True, exist_ok=True)
    noted = []
    with replaced(tar) as new, plain_tar(new) as add:
        for drawing in drawings:
            sample = next(samples)
            for extension, content in sample.members:
                add(f"{drawing.key}.{extension}", content)
            noted.append((drawing, sample._replace(members=())))
    return noted


@contextmanager
def _made_by(processes: int, drawings: Sequence[Drawing]) -> Iterator[Iterator[Made]]:
    """Yield an iterator over the samples of `drawings`, in order."""
    if processes == 1:
        yield map(made, drawings)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        try:
            yield pool.map(made, drawings, chunksize=_DRAWINGS_AT_ONCE)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _summary(noted: Sequence[tuple[Drawing, Made]], drawings: Path) -> dict[str, Any]:
    """Return how many samples each set has, how many state each field, and the unused files."""
    record = drawings / RECORD
    sets = Counter(drawing.set for drawing, _ in noted)
    return {
        "packages": json.loads(record.read_text()) if record.exists() else {},
        "samples": {name: sets[name] for name in SETS},
        "stating": Counter(field for _, sample in noted for field in sample.stated),
        "refused_pictures": {
            drawing.name: sample.refused for drawing, sample in noted if sample.refused
        },
        "svg_without_png": without_picture(drawings),
    }
