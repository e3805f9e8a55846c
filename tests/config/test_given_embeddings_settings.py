import pytest

from clipaudit.config.loading import check_files, parse_settings
from clipaudit.errors import ConfigError

GIVEN = {
    "corpus": "web",
    "encoder": "b32",
    "arrays": "emb/{0..1}.npy",
    "metadata": "meta/{0..1}.parquet",
    "column": "image_path",
}


def settings(others=(), **changes):
    return {
        "corpora": {
            "web": {"shards": "web.tar"},
            "half": {"of": "web", "where": "row < 2"},
        },
        "architectures": {"b32": {"open_clip": "ViT-B-32"}},
        "recipes": {"own": {"architecture": "b32", "epochs": 1}},
        "encoders": {
            "b32": {"architecture": "b32", "pretrained": "openai"},
            "trained": {"model": "own/web"},
        },
        "embeddings": {"given": {**GIVEN, **changes}, **dict(others)},
    }


def test_given_embeddings_are_found_by_encoder_and_corpus():
    given = parse_settings(settings()).given_embeddings()["b32", "web"]

    assert given.array_files == ["emb/0.npy", "emb/1.npy"]
    assert given.metadata_files == ["meta/0.parquet", "meta/1.parquet"]
    assert given.join_on == "key"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metadata": "meta/0.parquet"}, "2 arrays but 1 metadata files"),
        ({"arrays": "emb/{0..1}.pt"}, "arrays end in pt, not all in npy or npz"),
        ({"arrays": "emb/{0..1}.npz"}, "`array` names one of the arrays of .npz files"),
        ({"array": "b32_img"}, "`array` names one of the arrays of .npz files"),
        ({"corpus": "half"}, "embeddings.given.corpus: half is a split; name its corpus"),
        ({"encoder": "l14"}, "embeddings.given.encoder: 'l14' is not among encoders"),
        ({"encoder": "trained"}, "embeddings.given.encoder: trained is trained here"),
        ({"others": {"other": GIVEN}}, "embeddings.other: embeddings.given has the same corpus"),
    ],
)
def test_embeddings_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ConfigError) as refused:
        parse_settings(settings(**changes))
    assert message in str(refused.value)


def test_missing_files_are_named(tmp_path):
    (tmp_path / "web.tar").touch()

    with pytest.raises(ConfigError, match=r"4 files that .*:\n  embeddings\.given: emb/0\.npy"):
        check_files(parse_settings(settings()), root=tmp_path)
