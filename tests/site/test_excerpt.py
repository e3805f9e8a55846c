"""An excerpt gives the same answers as the catalog queried for each single sample."""

from catalogcases import make_catalog, sample

from clipaudit.catalog.samples.catalog import Address, SampleCatalog
from clipaudit.catalog.samples.fate import fate_at
from clipaudit.catalog.views import open_catalog
from clipaudit.site.samples import Excerpt

PLACES = [(0, 0), (0, 1), (1, 0)]
SAMPLES = ("samples", {"corpus": "large", "part": "00000"}, [sample(*at) for at in PLACES])
OTHERS = ("samples", {"corpus": "small", "part": "00000"}, [sample(0, 0)])
DROPS = [
    {"shard": shard, "row": row, "key": "k", "stage": "spot", "reason": reason}
    for shard, row in PLACES
    for reason in ("torn", "small")
]


def catalog(tmp_path):
    drops = ("drops_spot", {"corpus": "large", "encoder": "own"}, DROPS)
    return open_catalog(make_catalog(tmp_path, SAMPLES, OTHERS, drops))


def test_every_fate_equals_that_of_the_catalog(tmp_path):
    addresses = [*(Address("large", *at) for at in PLACES), Address("small", 0, 0)]
    with catalog(tmp_path) as connection:
        excerpt, whole = Excerpt(connection), SampleCatalog(connection)

        fates = [fate_at(excerpt, address) for address in addresses]

        assert fates == [fate_at(whole, address) for address in addresses]
        assert [len(fate["drops"]) for fate in fates] == [2, 2, 2, 0]


def test_each_view_is_read_once(tmp_path, monkeypatch):
    asked = []
    with catalog(tmp_path) as connection:
        excerpt = Excerpt(connection)
        ask = excerpt.ask
        monkeypatch.setattr(excerpt, "ask", lambda sql, *rest: asked.append(sql) or ask(sql, *rest))

        for place in PLACES:
            excerpt.about(Address("large", *place), "drops_spot", "reason")

    assert len(asked) == 1
