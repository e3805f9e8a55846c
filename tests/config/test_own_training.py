"""An encoder that chooses the sets it is trained on is refused; its jobs would wait for it."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.errors import ConfigError

CONFIG = Path(__file__).parents[2] / "config"
SIMILARITY = ("micro", "")
PARROT = ("micro_parrot", "")
COPIES = ("micro", "similarity: null\ncopies: {train: large, test_sets: [val], encoders: [own]}")
MEMORIZATION = ("micro_memorization", "memorization: {encoder: own}")
SEMANTIC = (
    "micro_memorization",
    "memorization:\n  encoder: own\n  deduplication: {threshold: 0.9, clusters: 2}\n"
    "  sources: {scenes: {duplicates: semantic}}",
)


def parse(folder, shipped, more, manifest):
    """Return shipped settings whose encoder `own` is trained on a manifest."""
    lines = [f"extends: {CONFIG / shipped}.yaml", f"encoders: {{own: {{model: brief/{manifest}}}}}"]
    (folder / "my.yaml").write_text("\n".join([*lines, more]))
    return parse_settings(read_settings(folder / "my.yaml"))


@pytest.mark.parametrize(
    ("settings", "manifest", "where", "other"),
    [
        (SIMILARITY, "large-deduplicated", "similarity.encoder", "large"),
        (PARROT, "random-8", "parrot.encoder", "posters"),
        (COPIES, "large-without-copies", "copies.encoders", "large"),
        (SEMANTIC, "set-b", "memorization.encoder", "scenes"),
    ],
)
def test_an_encoder_trained_on_a_set_that_it_chooses_is_refused(
    tmp_path, settings, manifest, where, other
):
    with pytest.raises(ConfigError, match=f"{where}: own is trained on {manifest}, which it choo"):
        parse(tmp_path, *settings, manifest)

    assert parse(tmp_path, *settings, other).encoders["own"].model == f"brief/{other}"


def test_sets_drawn_without_embeddings_may_train_their_audits_encoder(tmp_path):
    assert parse(tmp_path, *MEMORIZATION, "set-b").encoders["own"].model == "brief/set-b"
