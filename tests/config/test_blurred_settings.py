import pytest

from clipaudit.config.corpora import Blurred
from clipaudit.config.loading import check_files, parse_settings
from clipaudit.errors import ConfigError

SOURCE = {"shards": ["b.tar", "a.tar", "c.tar"]}


def settings(*, shards="data/blurred/plain/{00000..00002}.tar", **blurred):
    return {
        "corpora": {
            "photos": SOURCE,
            "half": {"of": "photos", "where": "row < 2"},
            "plain": {"shards": shards, "blurred": {"of": "photos", **blurred}},
        }
    }


def test_a_blurred_corpus_has_a_shard_for_each_source_shard():
    run = parse_settings(settings())

    assert run.shards("plain")[2] == "data/blurred/plain/00002.tar"
    assert run.corpora["plain"].blurred == Blurred(of="photos")
    assert "plain" in run.manifests()


@pytest.mark.parametrize(
    "shards",
    [
        "data/blurred/plain/{00000..00001}.tar",
        "data/blurred/plain/{00000..00003}.tar",
        "data/blurred/plain/{0..2}.tar",
        "data/blurred/other/{00000..00002}.tar",
        ["data/blurred/plain/00000.tar", "data/blurred/plain/{00002..00001}.tar"],
    ],
)
def test_other_shards_are_refused(shards):
    with pytest.raises(ConfigError) as refused:
        parse_settings(settings(shards=shards))
    assert "corpora.plain.shards: " in str(refused.value)


def test_the_message_gives_the_pattern_to_write():
    with pytest.raises(ConfigError, match=r"are data/blurred/plain/\{00000\.\.00002\}\.tar"):
        parse_settings(settings(shards="photos.tar"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"of": "half"}, "corpora.plain.blurred.of: half is a split; blur its corpus"),
        ({"of": "plain"}, "corpora.plain.blurred.of: plain is blurred itself"),
        ({"of": "x"}, "corpora.plain.blurred.of: 'x' is not among corpora (half, photos, plain)"),
        ({"margin": -1}, "corpora.plain.blurred.margin"),
        ({"threshold": 1.5}, "corpora.plain.blurred.threshold"),
        ({"detector": "faces.pt"}, "'faces.pt' ends neither in .onnx (YuNet) nor in .xml"),
        ({"detectr": "a.xml"}, "blurred.detectr is not a setting. Did you mean `detector`?"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_one_clear_error(change, message):
    with pytest.raises(ConfigError) as refused:
        parse_settings(settings(**change))
    assert message in str(refused.value)


def test_a_blurred_corpus_cannot_be_a_split():
    content = settings()
    content["corpora"]["plain"] |= {"shards": None, "of": "photos", "where": "true"}

    with pytest.raises(ConfigError, match="a corpus with `blurred` cannot be a split"):
        parse_settings(content)


def test_no_world_can_be_named_blurred():
    content = settings()
    content["worlds"] = {"blurred": {"kind": "digits"}}

    with pytest.raises(ConfigError, match=r"worlds\.blurred"):
        parse_settings(content)


def test_blurred_shards_need_not_exist_but_their_source_and_detector_must(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.tar").touch()
    check_files(parse_settings(settings()), root=tmp_path)

    with pytest.raises(ConfigError, match=r"1 file .*\n.*plain\.blurred\.detector: no\.onnx"):
        check_files(parse_settings(settings(detector="no.onnx")), root=tmp_path)
