"""The embeddings from which a map of vectors is drawn."""

from types import SimpleNamespace

import pytest

from clipaudit.config.loading import parse_settings
from clipaudit.errors import ConfigError
from clipaudit.reports.contents import VectorMap, vector_maps
from clipaudit.reports.wiring import MAPPED_PARTS, ReportFiles

JOB = SimpleNamespace(encoder="own", corpus="large")


def run_of(corpora, **maps):
    """Return the settings of the fixture with settings of maps."""
    return parse_settings(corpora.run.model_dump() | {"report": {"maps": maps}})


def test_audits_name_their_maps_with_test_sets(corpora):
    files = ReportFiles(corpora())

    assert files.maps["own", "large"].test_sets == ["val", "sketch"]
    assert files.map_pointers[0] == "results_micro/maps/own/large.json"
    assert set(files.map_pointers) <= set(files.unread_pointers)


@pytest.mark.parametrize(
    ("of", "maps"),
    [
        ([], []),
        (["own/small", "own/small"], [VectorMap("own", "small")]),
        (["own/large"], [VectorMap("own", "large", ["val", "sketch"])]),
    ],
)
def test_the_settings_can_name_other_maps(corpora, of, maps):
    assert vector_maps(run_of(corpora(), of=of)) == maps


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("own", "'own' is not `<encoder>/<corpus>`"),
        ("owl/large", r"'owl' is not among encoders \(.*own"),
        ("own/lager", r"'lager' is not among corpora \(.*large"),
    ],
)
def test_a_map_of_an_unknown_encoder_or_corpus_is_refused(corpora, name, says):
    with pytest.raises(ConfigError, match=f"report.maps.of: {says}"):
        run_of(corpora(), of=[name])


def test_a_map_reads_few_of_many_parts_from_the_whole_corpus(corpora):
    shards = "data/micro/large/{00000..00099}.tar"
    files = ReportFiles(corpora(large={"shards": shards, "shards_per_part": 1}))

    parts = [int(path[-10:-5]) for path in files.mapped_embeddings(JOB)]

    assert len(parts) == MAPPED_PARTS
    assert parts == sorted({*parts})
    assert (parts[0], parts[-1]) == (0, 87)
