import pytest
import yaml

from clipaudit.config.embeddings import unchecked
from clipaudit.config.loading import check_files, parse_settings
from clipaudit.config.pictures import left_out, pictured, require_pictures
from clipaudit.errors import ConfigError
from clipaudit.similarity.settings import Similarity

SETTINGS = """
corpora:
  web: {metadata: {files: "meta/{0..1}.parquet", key: image_path}, captions: none, title: The web}
  half: {of: web, where: "row < 2", captions: none}
  own: {shards: own.tar}
  val: {shards: val.tar, captions: none, labels: pets}
  seen: {metadata: {files: seen.parquet, uid: uid, label: label}, captions: none, labels: pets}
label_sets: {pets: {classes: pets.txt}}
architectures: {b32: {open_clip: ViT-B-32}}
recipes: {brief: {architecture: b32}}
encoders: {b32: {architecture: b32, pretrained: openai}}
embeddings:
  web-b32: &given
    corpus: web
    encoder: b32
    arrays: emb/{0..1}.npy
    metadata: meta/{0..1}.parquet
    column: image_path
    join_on: row
  seen-b32: {<<: *given, corpus: seen, arrays: seen.npy, metadata: seen.parquet}
similarity:
  {encoder: b32, recipe: brief, large: web, small: own, test_sets: [val, seen]}
"""


def parsed(*place, value=None):
    """Return the settings with the value at a place, or without that place if it is None."""
    settings = inner = yaml.safe_load(SETTINGS)
    for name in place[:-1]:
        inner = inner.setdefault(name, {})
    if place:
        inner.pop(place[-1], None)
        inner |= {place[-1]: value} if value is not None else {}
    return parse_settings(settings)


def test_shards_of_a_listed_corpus_are_its_metadata_files():
    run = parsed()

    assert run.shards("web") == run.shards("half") == ["meta/0.parquet", "meta/1.parquet"]
    assert pictured(run, list(run.corpora)) == ["own", "val"]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (["corpora", "web", "shards"], "a.tar", "give one of `shards`, `of` (for a split)"),
        (["corpora", "web", "metadata", "key"], None, "web.metadata: give `key` or `uid`"),
        (["corpora", "web", "captions"], "text", "`captions: text` needs `metadata.caption`"),
        (["corpora", "web", "labels"], "pets", "`labels` needs `metadata.label`"),
        (["corpora", "faceless"], {"shards": "data/blurred/faceless/{00000..00001}.tar"}
            | {"blurred": {"of": "web"}}, "corpora.faceless.blurred.of: web has no images"),
        (["encoders", "trained"], {"model": "brief/web"},
            "encoders.trained.model: no model can be trained on web, because web has no "),
        (["recipes", "later"], {"architecture": "b32"}
            | {"start_from": {"recipe": "brief", "manifest": "web-and-own"}},
            "recipes.later.start_from: no model can be trained on web-and-own, because web has"),
        (["embeddings", "web-b32"], None,
            "similarity.encoder: b32 cannot embed web, which has no images"),
        (["similarity", "pairs", "p"], {"small": "own", "test": "seen2"}, "'seen2' is not among"),
        (["parrot"], {"encoder": "b32", "corpora": ["web"]}, "parrot.corpora: corpora.web.capt"),
        (["embeddings", "web-b32", "arrays"], "emb/0.npy", "1 arrays but 2 metadata files"),
        (["embeddings", "web-b32", "corpus"], "own", "join_on: row is for a corpus whose `metada"),
    ],
)  # fmt: skip
def test_settings_that_need_images_are_refused_by_name(place, value, message):
    with pytest.raises(ConfigError) as refused:
        parsed(*place, value=value)

    assert message in str(refused.value)


def test_a_corpus_of_the_parrot_audit_needs_images():
    settings = yaml.safe_load(SETTINGS)
    settings["corpora"]["web"]["captions"] = "text"
    settings["corpora"]["web"]["metadata"]["caption"] = "caption"
    settings["parrot"] = {"encoder": "b32", "corpora": ["web"]}

    with pytest.raises(ConfigError, match=r"parrot\.corpora: web has no images, because corpora\."):
        parse_settings(settings)


def test_left_out_results_name_the_corpora_without_images():
    assert left_out(parsed()) == [
        "The web has no images: no model is trained on it, so none is in this grid.",
        "seen has no images: no model is evaluated on it.",
    ]


def test_embeddings_of_corpora_without_images_are_reported_as_unchecked():
    assert unchecked(parsed()) == [
        "The check that b32 computed the embeddings of The web, which has no images.",
        "The check that b32 computed the embeddings of seen, which has no images.",
    ]


def test_evidence_is_left_out_with_the_models_that_it_compares():
    seeds = {"seeds": 2, "evidence": {"pruning": "val", "reference": "seen"}}

    run = parsed("similarity", value=yaml.safe_load(SETTINGS)["similarity"] | seeds)

    assert left_out(run)[-1] == "So the evidence over several seeds is left out."


def test_a_split_has_the_images_of_its_corpus():
    with pytest.raises(ConfigError, match=r"half has no images: it is listed by corpora\.web\."):
        require_pictures(parsed(), ["own", "half"])


def test_missing_metadata_files_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"corpora\.web\.metadata: meta/0\.parquet"):
        check_files(parsed(), root=tmp_path)


def test_another_encoder_embeds_the_large_set_only_to_compare_prunings():
    settings = yaml.safe_load(SETTINGS)
    settings["encoders"]["other"] = settings["encoders"]["b32"]
    settings["similarity"] |= {"test_sets": ["val"], "other_encoders": ["other"]}

    with pytest.raises(ConfigError, match=r"other_encoders: other cannot embed web.* or set sim"):
        parse_settings(settings)

    settings["similarity"]["compare_prunings"] = False
    assert parse_settings(settings).section(Similarity).other_encoders == ["other"]
