"""Write a run's tables and figures as an RO-Crate: the files, and how each was made.

It follows the Process Run Crate profile: each action is a CreateAction with its step and code
(instrument), its inputs (object: files, and settings as PropertyValue) and its outputs (result).
Files of tables and figures are in the crate; all others are named by their SHA-256.
"""

import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from clipaudit.provenance.crate_actions import Entity, each_action
from clipaudit.provenance.crate_summary import summed_actions
from clipaudit.provenance.recorded import Recorded, Target, ended, needs_extra
from clipaudit.store.store import Store

if TYPE_CHECKING:
    from rocrate.rocrate import ROCrate

METADATA = "ro-crate-metadata.json"
PROFILE = "https://w3id.org/ro/wfrun/process/0.6"
CRATE_VERSION = "1.3"  # the version that the profile extends
TERMS = "Not stated: ask the author of this crate."  # a crate must state a licence

_MEDIA_TYPES = {
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".tex": "application/x-tex",
}


def write_crate(
    run: Recorded,
    store: Store,
    path: Path,
    *,
    summary: bool = False,
    files: bool = True,
    terms: str | None = None,
    zipped: bool = False,
) -> None:
    """Write the crate as a folder at `path`, or as a zip file.

    With `summary` there is one action for each step and code, and one collection for all files
    of a kind: a crate then grows with the steps of a run, not with its jobs. Without `files` it
    describes tables and figures but does not include them, and reads no object. Raise ConfigError
    if rocrate is not installed, StoreError for a missing or altered object.
    """
    try:
        from rocrate.rocrate import ROCrate
    except ImportError as error:
        raise needs_extra("rocrate", error) from error
    crate = ROCrate(version=CRATE_VERSION)
    held = {target.name: target for target in run.targets} if files else {}
    for target in held.values():
        source = store.checked_path(target.pointer)
        crate.add_file(source, target.name, properties=_about(target))
    entities = summed_actions(run, held) if summary else each_action(run, held)
    _describe(crate, run, entities, terms)
    if zipped:
        _write_zip(crate, path)
    else:
        crate.write(path)


def _write_zip(crate: "ROCrate", path: Path) -> None:
    """Write the crate's files into a zip.

    The crate's own `write_zip` leaves a generator behind if the disk is full, which then prints a
    traceback.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entity in [*crate.data_entities, *crate.default_entities]:
            for name, chunks in groupby(entity.stream(), key=itemgetter(0)):
                with archive.open(name, "w", force_zip64=True) as file:
                    file.writelines(chunk for _, chunk in chunks)


def _about(target: Target) -> dict[str, str]:
    """Return the crate's properties of a file in it."""
    about = {
        "name": target.name,
        "sha256": target.pointer.digest,
        "contentSize": str(target.pointer.bytes),
    }
    kind = _MEDIA_TYPES.get(Path(target.name).suffix)
    return about | ({"encodingFormat": kind} if kind else {})


def _describe(
    crate: "ROCrate", run: Recorded, entities: Mapping[str, Entity], terms: str | None
) -> None:
    """Add the entities, the profile, and the description of the whole crate."""
    from rocrate.model.contextentity import ContextEntity

    kinds = ["CreativeWork", "Profile"]  # what the profile requires, and what RO-Crate does
    profile = {"@type": kinds, "name": "Process Run Crate", "version": "0.6"}
    for identifier, entity in {PROFILE: profile, **entities}.items():
        crate.add(ContextEntity(crate, identifier, properties=entity))
    actions = [{"@id": name} for name, each in entities.items() if each["@type"] == "CreateAction"]
    crate.name = "Tables and figures of a training data audit"
    crate.description = (
        f"{len(run.targets)} files that clipaudit made, and the {len(run.records)} actions that "
        "they come from, down to the shards, settings and code."
    )
    crate.license = terms or TERMS
    # the end of the last action: the same records give the same crate
    now = datetime.now(UTC).isoformat(timespec="seconds")
    crate.datePublished = max(map(ended, run.records.values()), default=now)
    crate.root_dataset["conformsTo"] = {"@id": PROFILE}
    crate.root_dataset["mentions"] = actions
