"""Whether captions repeat the text in their images, measured on a corpus without any model."""

import pyarrow.parquet as pq
import pytest
import yaml
from microproject import copy_project


@pytest.mark.long
def test_captions_are_audited_without_an_encoder_or_training(tmp_path):
    project = copy_project(tmp_path / "project")
    whole = yaml.safe_load((project.folder / "config/micro_parrot.yaml").read_text())
    own = {name: whole[name] for name in ("results", "store", "worlds")}
    own["corpora"] = {"posters": whole["corpora"]["posters"]}
    (project.folder / "own.yaml").write_text(
        yaml.safe_dump({**own, "parrot": {"corpora": ["posters"]}})
    )

    said = project.run(config="own.yaml", target="all_tables all_figures report")

    rows = pq.read_table(project.results / "tables/parrot_table1.parquet").to_pylist()
    rates = {(row["measure"], row["unit"]): row["value"] for row in rows}
    page = (project.results / "report/index.html").read_text()
    assert "Left out: parrot.encoder is not named" in said
    assert 0 < rates["parroting", "share"] < 1
    assert "repeat a word of the text in their image" in page
    assert "Score:" not in page
    assert not (project.results / "models").exists()
