import pytest

from clipaudit.config.loading import check_files, parse_settings
from clipaudit.corpora.parts import expand_shards
from clipaudit.errors import ConfigError
from clipaudit.remote.urls import hidden


def test_a_range_of_urls_is_a_list_of_shards():
    assert expand_shards(["s3://bucket/laion/{00008..00010}.tar"]) == [
        "s3://bucket/laion/00008.tar",
        "s3://bucket/laion/00009.tar",
        "s3://bucket/laion/00010.tar",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "gs://bucket/a.tar",
        "hf://datasets/who/what@main/a.tar",
        "https://host:8443/a@b.tar",
        "s3://arn:aws:s3:eu-west-1:123456789012:accesspoint/mine/a.tar",
    ],
)
def test_supported_schemes_are_accepted(url):
    assert expand_shards([url]) == [url]


def test_an_unsupported_scheme_is_answered_with_the_supported_ones():
    with pytest.raises(ConfigError, match=r"ftp://host/0.tar: shards are read from s3://, gs://"):
        expand_shards(["ftp://host/0.tar"])


@pytest.mark.parametrize(
    "url",
    [
        "https://me:hush@host/0.tar",
        "https://me:h/hush@host/0.tar",
        "https://me%3Ahush%40host/0.tar",
        "s3://KEY:hush@bucket/{0..3}.tar",
        "s3://KEY:h/hush@bucket/0.tar",
        "https://host/0.tar?X-Amz-Signature=hush",
        "https://host/0.tar#hush",
        "ftp://me:hush@host/0.tar",
    ],
)
def test_a_url_that_contains_a_secret_is_refused_without_repeating_it(url):
    with pytest.raises(ConfigError, match=r"Remove it|Copy them") as caught:
        expand_shards([url])

    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["s3://bucket", "s3:///0.tar", "https://host/a/../0.tar", "s3://a/b::c"]
)
def test_a_url_that_names_no_shard_is_refused(url):
    with pytest.raises(ConfigError, match="not the URL of a shard"):
        expand_shards([url])


def corpus(**settings):
    return {"corpora": {"web": settings}}


def test_remote_shards_are_not_checked_when_the_settings_are_read():
    check_files(parse_settings(corpus(shards="s3://no-such-bucket/{00000..41407}.tar")))


def test_files_and_urls_in_one_corpus_are_refused():
    with pytest.raises(ConfigError, match=r"web.shards: 1 are URLs and 2 are files, such as 0.tar"):
        parse_settings(corpus(shards=["{0..1}.tar", "s3://bucket/2.tar"]))


def test_a_pattern_may_vary_the_host():
    assert expand_shards(["https://cdn{0..1}.host/a.tar"])[1] == "https://cdn1.host/a.tar"


def test_keys_that_differ_in_a_slash_are_two_shards():
    assert len(expand_shards(["s3://bucket/a//0.tar", "s3://bucket/a/0.tar"])) == 2


def test_a_list_of_image_files_cannot_be_remote():
    with pytest.raises(ConfigError, match=r"s3://b/val.images is a URL, but only tars and Parquet"):
        parse_settings(corpus(shards="s3://b/val.images"))


def test_a_password_with_a_slash_is_hidden_in_messages():
    assert hidden("GET https://me:p/w@host/0.tar failed") == "GET https://…@host/0.tar failed"
    assert hidden("GET http://host:80/a@b.tar failed") == "GET http://host:80/a@b.tar failed"


def test_a_remote_corpus_cannot_be_blurred():
    settings = corpus(shards="s3://bucket/0.tar")
    settings["corpora"]["blurred"] = {
        "shards": "data/blurred/blurred/{00000..00000}.tar",
        "blurred": {"of": "web"},
    }

    with pytest.raises(ConfigError, match="web is remote; copy its shards here to blur them"):
        parse_settings(settings)


def test_short_values_of_variables_hide_nothing(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "tar")

    assert hidden("0.tar is missing") == "0.tar is missing"
