import pytest
from downloaded import download

from clipaudit.errors import InputError
from clipaudit.imports.recognition import recognise


@pytest.mark.parametrize(
    ("names", "importer"),
    [
        (["img_emb/img_emb_0.npy", "metadata/metadata_0.parquet"], "clip-retrieval"),
        (["images/img_emb_0.npy", "metadata/metadata_0.parquet"], "clip-retrieval"),
        (["images/0.jpg", "metadata/0.json"], "folder"),
        (["classnames.txt", "test/0.tar", "test/nshards.txt"], "clip-benchmark"),
        (["shards/small/00000.tar", "metadata/small/a.parquet"], "datacomp"),
        (["0a1b.parquet", "0a1b.npz"], "datacomp"),
        (["train/0.tar", "train/1.tar", "cover.jpg"], "tars"),
        (["web.tar.gz"], "tars"),
        (["cats/a.JPG"], "folder"),
        (["cats/a.jpg", "classnames.txt"], "folder"),
        (["00000/0.jpg", "00000/1.jpg", "00000_stats.json", "00000.parquet"], "folder"),
        (["readme.txt"], None),
        (["cats/a.jpg", "cats/._0.tar", ".old/0.tar"], "folder"),
    ],
)
def test_file_names_determine_which_importer_reads_a_folder(tmp_path, names, importer):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")

    assert recognise(tmp_path) == importer


def test_a_download_of_img2dataset_is_recognised(tmp_path):
    assert recognise(download(tmp_path / "web")) == "img2dataset"


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path):
    with pytest.raises(InputError, match="gone: cannot be listed"):
        recognise(tmp_path / "gone")
