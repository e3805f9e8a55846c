"""What the similarity audit asks for and says if a corpus has no images."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.similarity.reports.figures import similarity_figures
from clipaudit.similarity.reports.galleries import similarity_galleries
from clipaudit.similarity.reports.tables import similarity_tables

ROOT = Path(__file__).parents[2]
NOTE = "large has no images: no model is trained on it, so none is in this grid."
EVIDENCE = {"pruning": "sketch", "reference": "val"}


def listed(settings, *corpora):
    """Remove the images of some corpora."""
    for name in corpora:
        corpus = settings["corpora"][name]
        count = 4 if name == "large" else 1
        files = f"{name}_{{0..{count - 1}}}.parquet"
        columns = {"key": "key", "caption": "caption", "label": "label"}
        corpus["metadata"] = {"files": files, **columns}
        del corpus["shards"], corpus["world"]
        arrays = files.replace("parquet", "npy")
        given = {"corpus": name, "encoder": "own", "arrays": arrays, "metadata": files}
        settings.setdefault("embeddings", {})[name] = given | {"column": "key"}
    return settings


@pytest.fixture
def micro():
    """The micro world's settings, with two seeds and an encoder from elsewhere."""
    settings = read_settings(ROOT / "config/micro.yaml")
    settings["encoders"]["own"] = {"architecture": "atom", "pretrained": "own.pt"}
    settings["similarity"] |= {"seeds": 2, "evidence": EVIDENCE}
    return settings


def predictions(specifications):
    return {
        path.removeprefix("predictions/")
        for each in specifications
        for path in each.inputs.get("predictions", ())
    }


def test_models_of_corpora_without_images_are_not_requested(micro):
    run = parse_settings(listed(micro, "large"))
    tables = similarity_tables(run)

    asked = predictions(
        [*tables.values(), *(figure.table for figure in similarity_figures(run).values())]
    )

    assert asked == {f"brief-resnet/small/{name}.json" for name in ("sketch", "val")}
    assert not {row["in_grid"] for row in tables["similarity_table1"].relations["rows"]} - {False}


def test_predictions_on_test_sets_without_images_are_not_requested(micro):
    run = parse_settings(listed(micro, "sketch"))
    tables = similarity_tables(run)

    asked = predictions(
        [*tables.values(), *(figure.table for figure in similarity_figures(run).values())]
    )

    assert {path.rpartition("/")[2] for path in asked} == {"val.json"}
    assert "similarity_evidence" not in tables  # it is about sketch


def test_only_accuracy_tables_state_what_is_missing(micro):
    tables = similarity_tables(parse_settings(listed(micro, "large")))

    said = {name for name, table in tables.items() if NOTE in table.notes}

    assert said == {f"similarity_{name}" for name in ("table1", "table3", "robustness")}
    assert "similarity_evidence" not in tables
    assert tables["similarity_table1"].notes[-1] == (
        "So the evidence over several seeds is left out."
    )


def test_with_all_images_no_note_is_added(micro):
    run = parse_settings(micro)

    notes = " ".join(note for table in similarity_tables(run).values() for note in table.notes)
    assert "no images" not in notes
    assert "no pictures" not in " ".join(each.caption for each in similarity_figures(run).values())


def test_a_gallery_reads_existing_tars_and_uids_of_the_rest(micro):
    run = parse_settings(listed(micro, "large"))

    gallery = similarity_galleries(run)["similarity_fig15_val"]

    assert [named.corpus for named in gallery.sources.tars] == ["val", "small"]
    assert gallery.inputs["samples"] == ["samples/large/00000.json", "samples/large/00001.json"]
    assert gallery.caption.endswith(
        "large has no images; the uids of samples, or the first digits, replace them."
    )
