import re
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
import tinysite
from catalogcases import sample
from tinysite import HOSTILE, UIDS, TinySite, asking_site

from clipaudit import site as package
from clipaudit.errors import TooSmall
from clipaudit.site import assets, pages

PLACES = (
    "index",
    "tables",
    "figures",
    "galleries",
    "samples",
    "drops",
    "settings",
    "cost",
)


@pytest.fixture
def site(tmp_path, monkeypatch):
    return TinySite(tmp_path, monkeypatch)


def html(folder):
    return {path.relative_to(folder): path.read_text() for path in folder.rglob("*.html")}


def test_every_part_has_a_page(site):
    folder = site.write()

    assert {f"{place}.html" for place in PLACES} <= {str(path) for path in html(folder)}


def test_without_published_numbers_to_compare_there_is_no_page_of_them(site):
    folder = site.write()

    assert not (folder / "published.html").exists()
    assert "published.html" not in (folder / "index.html").read_text()


def test_brackets_are_explained_only_if_they_occur(site):
    assert "Brackets hold" not in site.page("index.html")


def test_the_overview_names_the_samples_that_were_left_out(tmp_path, monkeypatch):
    drop = {"shard": 0, "row": 2, "key": "2", "stage": "index", "reason": "corrupt image"}
    site = TinySite(tmp_path, monkeypatch, ("drops_index", {"corpus": "web"}, [drop]))

    page = site.page("index.html")

    assert "<li>1 sample of web was left out: corrupt image</li>" in page
    assert '<a href="drops.html">Dropped samples</a>' in page


def test_no_text_of_the_data_becomes_markup(site):
    found = html(site.write())

    assert not [path for path, page in found.items() if "<script>alert" in page]
    assert "&lt;script&gt;alert(1)" in found[Path("tables/similarity_gap_check.html")]


def test_control_characters_do_not_reach_a_page(site):
    found = html(site.write())

    assert not [path for path, page in found.items() if "\x1b" in page]


def test_the_commands_on_pages_name_the_folders_of_the_run(tmp_path, monkeypatch):
    site = asking_site(tmp_path, monkeypatch)

    pages = "".join(html(site.write()).values())

    commands = re.findall("<code>(clipaudit [^<]+)</code>", pages)
    folders = f" --results {site.results} --store {site.made.store.root}"
    assert len(commands) > 2
    assert [command for command in commands if not command.endswith(folders)] == []


def test_every_link_points_to_a_file_of_the_report(site):
    folder = site.write()

    for path, page in html(folder).items():
        for target in re.findall(r'(?:href|src)="([^"#]+)', page):
            assert (folder / path.parent / target).is_file(), f"{path}: {target}"


def test_pages_contain_no_external_address(site):
    for page in html(site.write()).values():
        assert "://" not in page
        assert "default-src 'none'" in page


def test_pages_need_no_inline_script_or_style(site):
    for page in html(site.write()).values():
        assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", page)


def test_a_cell_states_the_origin_of_its_number(site):
    page = site.page("tables/similarity_gap_check.html")

    assert re.search(r'<td class="n" data-r="0" data-c="\d" data-v="2000">2\u202f000</td>', page)


def test_images_have_sizes_so_that_the_layout_is_stable(site):
    for page in html(site.write()).values():
        for image in re.findall(r"<img [^>]*>", page):
            assert re.search(r'width="\d+" height="\d+"', image), image


def test_a_figure_opens_larger_than_in_print_and_a_gallery_keeps_its_colours(site):
    site.write()

    drawn, gallery = (
        re.search(r"<img[^>]*>", (site.report / f"figures/similarity_fig{n}.html").read_text())[0]
        for n in (3, 2)
    )
    assert 'width="180" height="360" class="drawing"' in drawn
    assert "drawing" not in gallery


def test_the_name_of_a_sample_in_a_table_opens_its_page(site):
    numbers = ("distance", "similarity", "agreement")
    own = {"testset": "web", "testset_title": "Web", "test_shard": 0, "test_row": 0}
    other = {"corpus": "web", "shard": 0, "row": 1, "kind": "edited", "edits": ""}
    pair = {"position": 0, **own, **other, **dict.fromkeys(numbers, 1)}
    site.add_table("copies_pairs", pa.Table.from_pylist([pair]))

    page = site.page("tables/copies_pairs.html")

    opened = re.findall(r'<td [^>]*><a href="../samples/([^"]*)">([^<]*)<', page)
    assert opened == [("web-0-0.html", "0:0"), ("web-0-1.html", "0:1")]
    assert '<th scope="row">Web</th>' in page


def test_names_in_a_caption_are_code(site):
    site.add_table("copies_groups", pa.table({"shard": [0], "row": [1], "size": [2]}))

    folder = site.write()

    for path in ("tables.html", "tables/copies_groups.html"):
        assert "<code>repeat_groups</code>" in (folder / path).read_text(), path


def test_each_sample_of_a_gallery_has_a_page_with_its_image(site):
    page = site.page("samples/web-0-1.html")

    assert "samples/web-0-1.jpg" in page
    assert "../figures/similarity_fig2.html" in page


def test_samples_with_equal_uids_have_a_page_each(tmp_path, monkeypatch):
    monkeypatch.setattr(tinysite, "sample", partial(sample, uid=UIDS[0]))

    folder = TinySite(tmp_path, monkeypatch).write() / "samples"

    for row in (0, 1):
        page = (folder / f"web-0-{row}.html").read_text()
        assert f"clipaudit sample web 0:{row} " in page


def test_the_words_found_in_an_image_are_drawn_on_it(tmp_path, monkeypatch):
    page = asking_site(tmp_path, monkeypatch).page("samples/web-0-0.html")

    assert page.count('<polygon class="text"') == 1
    assert HOSTILE not in page


def test_without_images_uids_replace_them(site):
    folder = site.write(pictures=False)

    kinds = ("*.jpg", "*.png", "files/*.svg")
    found = sorted(path.name for kind in kinds for path in folder.rglob(kind))
    assert found == ["similarity_fig3.png", "similarity_fig3.svg"]  # drawn, no image
    assert UIDS[0] in (folder / "figures" / "similarity_fig2.html").read_text()


def test_the_number_of_sample_pages_is_limited(site):
    folder = site.write(samples=1)

    assert len(list((folder / "samples").glob("*.html"))) == 1
    assert "1 more are shown in galleries" in (folder / "samples.html").read_text()


def test_a_lost_shard_leaves_a_placeholder(site):
    site.tar.unlink()

    page = site.page("samples/web-0-0.html")

    assert 'class="placeholder"' in page


def test_the_lineage_is_a_script_that_sets_one_constant(site):
    script = (site.write() / "data" / "lineage.js").read_text()

    assert script.startswith("const LINEAGE = {")
    assert script.endswith("};\n")


def test_a_second_report_completely_replaces_the_first(site):
    (site.write() / "left.html").write_text("old")

    folder = site.write(title="Again")

    assert not (folder / "left.html").exists()
    assert "<h1>Again</h1>" in (folder / "index.html").read_text()
    assert [path.name for path in site.results.glob(".report*")] == []


def test_a_failed_report_keeps_the_previous_one(site):
    site.write(title="First")
    (site.results / "tables" / "similarity_gap_check.csv.json").unlink()

    with pytest.raises(Exception, match="no such pointer"):
        site.write(title="Second")

    assert "First" in (site.report / "index.html").read_text()
    assert [path.name for path in site.results.glob(".report*")] == []


def test_the_code_digest_covers_every_template_and_asset():
    folder = Path(package.__file__).parent

    assert sorted(pages.READS) == [
        f"templates/{path.name}" for path in sorted((folder / "templates").iterdir())
    ]
    assert sorted(assets.READS) == [
        f"static/{path.name}" for path in sorted((folder / "static").iterdir())
    ]


def test_an_omitted_gallery_has_no_page(site):
    pointer = site.results / "figures/similarity_fig2.json"
    why = site.made.store.put_reason(TooSmall("0 neighbours of 4 are there."))
    pointer.write_text(why.to_json())

    report = site.write()

    assert not (report / "figures/similarity_fig2.html").exists()
    assert "similarity_fig2" not in (report / "galleries.html").read_text()
