"""The declaration of the parrot-caption audit."""

from typing import Any

from clipaudit.config.audits import AskedData, Audit
from clipaudit.parrot.checks import asks, check, left_out, pictured
from clipaudit.parrot.curated import curated_manifests, derived_model_encoders
from clipaudit.parrot.settings import Parrot


def _of_data(data: AskedData) -> dict[str, Any] | None:
    return {"corpora": [data.train]} if data.captioned and data.reads_text else None


def _files(audit: Parrot) -> dict[str, str]:
    probe = {"font": audit.probe.font, "vocabulary": audit.probe.vocabulary}
    named = {f"parrot.probe.{key}": path for key, path in probe.items() if path is not None}
    lists = {f"spotting.given.{name}": rows.paths for name, rows in audit.spotting.given.items()}
    if audit.curations is not None and audit.curations.filter_words is not None:
        named["parrot.curations.filter_words"] = audit.curations.filter_words
    if audit.curations is not None and audit.curations.filter_scores is not None:
        lists["curations.filter_scores"] = audit.curations.filter_scores.paths
    for where, paths in lists.items():
        named |= {f"parrot.{where}.files[{at}]": path for at, path in enumerate(paths)}
    return named | {f"parrot.checked.{name}": path for name, path in audit.checked.items()}


def _folders(audit: Parrot) -> dict[str, str]:
    return {} if audit.suite is None else {"parrot.suite.folder": audit.suite.folder}


AUDIT = Audit(
    name="parrot",
    title="the parrot-caption audit",
    rules=("spot", "parrot", "curate"),
    question="Do the captions merely spell the text in the image?",
    section=Parrot,
    check=check,
    manifests=lambda _, audit: curated_manifests(audit),
    pictured=pictured,
    takes=("corpora", "test_sets", "retrieval"),
    derived_encoders=lambda _, audit: derived_model_encoders(audit),
    files=_files,
    folders=_folders,
    of_data=_of_data,
    left_out=left_out,
    asks=asks,
)
