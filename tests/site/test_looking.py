"""The pages for checking images by eye: their sample, the drawn images, the saved answers."""

import re

import pytest
from catalogcases import make_catalog, sample
from tinysite import UIDS, TinySite, asking_site

from clipaudit.catalog.views import CATALOG
from clipaudit.config.settings import WholeSettings
from clipaudit.site import looking

PAGE = "look/parrot.checked.web.html"


@pytest.fixture
def site(tmp_path, monkeypatch):
    return asking_site(tmp_path, monkeypatch)


def test_each_image_has_its_question_and_the_text_found_in_it(site):
    page = site.page(PAGE)

    assert sorted(re.findall(r'<li data-uid="(\w+)"', page)) == UIDS
    assert page.count('value="yes"') == page.count('value="no"') == 2
    assert page.count("<polygon") == 1
    assert "<script>alert" not in page
    assert "parrot.checked.web</code>" in page


def test_galleries_link_to_the_page_and_its_images_exist(site):
    folder = site.write()

    assert f'href="{PAGE}"' in (folder / "galleries.html").read_text()
    for path in re.findall(r'<image href="([^"]+)"', (folder / PAGE).read_text()):
        assert (folder / "look" / path).is_file()


def test_the_same_hundred_images_are_drawn_from_all_every_time(tmp_path):
    labels, count = {"corpus": "web"}, 300
    matches = [{"shard": 0, "row": row} for row in range(count)]
    spans = [each | {"spans": []} for each in matches]
    rows = [sample(0, row) for row in range(count)]
    views = {"samples": rows, "matches": matches, "spans": spans}
    results = make_catalog(tmp_path, *((view, labels, each) for view, each in views.items()))
    run = WholeSettings(corpora={"web": {"shards": "0.tar"}}, parrot={"corpora": ["web"]})

    first, second = (looking.look_pages(results / CATALOG, run) for _ in range(2))

    drawn = [each.address.row for each in first[0].pictures]
    assert first == second
    assert len(set(drawn)) == looking.PICTURES
    assert max(drawn) > 250, "from the end as well"


def test_no_image_is_asked_about_if_images_may_not_be_shown(site):
    folder = site.write(pictures=False)

    assert not (folder / "look").exists()


def test_a_run_that_reads_no_text_has_no_questions(tmp_path, monkeypatch):
    folder = TinySite(tmp_path, monkeypatch).write()

    assert not (folder / "look").exists()


def test_images_with_a_missing_shard_are_not_asked_about(site):
    site.tar.unlink()

    assert not (site.write() / PAGE).exists()
