"""Declares the copies audit."""

from typing import Any

from clipaudit.config.audits import AskedData, Audit
from clipaudit.copies.checks import check, left_out, pictured
from clipaudit.copies.manifests import copies_manifests
from clipaudit.copies.settings import Copies


def _of_data(data: AskedData) -> dict[str, Any]:
    sampled = {} if data.sample is None else {"sample": data.sample}
    encoders = {} if data.encoder is None else {"encoders": [data.encoder]}
    return {"train": data.train, "test_sets": list(data.tests), **encoders, **sampled}


AUDIT = Audit(
    name="copies",
    title="the copies audit",
    rules=("copies",),
    question="Are test images in the training data?",
    section=Copies,
    check=check,
    manifests=copies_manifests,
    pictured=pictured,
    of_data=_of_data,
    takes=("train", "test_sets"),
    left_out=left_out,
    calibrated_encoders=lambda audit: audit.encoders,
)
