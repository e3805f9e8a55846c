"""The declaration of the copies audit."""

from clipaudit.config.audits import Audit
from clipaudit.copies.checks import check, left_out, pictured
from clipaudit.copies.manifests import copies_manifests
from clipaudit.copies.settings import Copies

AUDIT = Audit(
    name="copies",
    title="the copies audit",
    rules=("copies",),
    question="Are test images in the training data?",
    section=Copies,
    check=check,
    manifests=copies_manifests,
    pictured=pictured,
    takes=("train", "test_sets"),
    left_out=left_out,
    calibrated_encoders=lambda audit: audit.encoders,
)
