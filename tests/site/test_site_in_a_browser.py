"""The report opened from disk in headless Chromium, as a reader opens it: `make test-browser`."""

import os
import shutil

import pyarrow as pa
import pytest
from playwright.sync_api import expect, sync_playwright
from tinysite import UIDS, TinySite, asking_site, mapped_site

from clipaudit.parrot.checked_text import checked_text

pytestmark = pytest.mark.browser
TABLE = "tables/similarity_gap_check.html"


@pytest.fixture(scope="module")
def chromium():
    path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert path, "no Chromium: apt-get install chromium, or name one by CHROMIUM=/its/path"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Reader:
    """A page of the report, and its errors, dialogs and outside requests."""

    def __init__(self, browser, folder):
        self.folder, self.troubles = folder, []
        self.page = browser.new_page(viewport={"width": 1280, "height": 900})
        self.page.on("console", lambda said: self.troubles.append(said.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.troubles.append("dialog"), dialog.dismiss()))
        self.page.on("request", self._requested)

    def _requested(self, request):
        if not request.url.startswith(f"file://{self.folder}/"):
            self.troubles.append(request.url)

    def open(self, path):
        self.page.goto(f"file://{self.folder}/{path}")
        return self.page


@pytest.fixture
def reader(chromium, tmp_path, monkeypatch):
    folder = tmp_path / "results_in_a_folder_whose_name_has_no_place_to_break"
    folder.mkdir()
    reader = Reader(chromium, TinySite(folder, monkeypatch).write())
    yield reader
    reader.page.close()
    assert reader.troubles == []


@pytest.fixture
def map_reader(chromium, tmp_path, monkeypatch):
    reader = Reader(chromium, mapped_site(tmp_path, monkeypatch).write())
    yield reader
    reader.page.close()
    assert reader.troubles == []


def every_page(reader):
    return sorted(str(path.relative_to(reader.folder)) for path in reader.folder.rglob("*.html"))


def first_cells(page):
    return [text.strip() for text in page.locator("tbody tr td:nth-child(3)").all_inner_texts()]


def test_every_page_opens_without_console_output_or_outside_requests(reader):
    for path in every_page(reader):
        assert reader.open(path).locator("h1").count() == 1, path


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_window(reader, width):
    reader.page.set_viewport_size({"width": width, "height": 844})

    for path in every_page(reader):
        wide = reader.open(path).evaluate("document.documentElement.scrollWidth")
        assert wide <= width, path


def test_the_layout_is_stable_while_a_page_loads(reader):
    reader.page.add_init_script(
        "window.moved = 0; new PerformanceObserver(list => list.getEntries().forEach("
        "entry => window.moved += entry.value)).observe({type: 'layout-shift', buffered: true})"
    )

    for path in every_page(reader):
        assert reader.open(path).evaluate("window.moved") == 0, path


def test_a_heading_sorts_by_true_values_and_restores(reader):
    page = reader.open(TABLE)
    written = first_cells(page)
    heading = page.locator("thead th button").nth(2)

    heading.click()
    ascending = first_cells(page)
    heading.click()
    descending = first_cells(page)
    heading.click()

    assert ascending == descending[::-1] != descending
    assert first_cells(page) == written


def test_the_search_hides_rows_without_the_word(reader):
    page = reader.open(TABLE)

    page.locator("input[data-search]").fill("sketch b-pruned")

    shown = page.locator("tbody:not([hidden]) tr")
    assert shown.count() == 1
    assert "Sketch" in shown.inner_text()


def test_the_keyboard_alone_leads_from_a_cell_to_its_shard(reader):
    page = reader.open(TABLE)
    page.locator("td[data-r]").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")

    page.locator("#open-all").press("Enter")

    shard = page.locator("dialog .shard .path").inner_text()
    assert shard == str(reader.folder.parents[1] / "00000.tar")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator("td[data-r]:focus")).to_have_count(1)


def test_a_cell_names_the_command_that_lists_its_files(reader):
    page = reader.open(TABLE)
    cells = [page.locator("tbody").nth(number).locator("td[data-r]").nth(1) for number in (0, 1)]
    asked = []

    for cell in cells:
        cell.click()
        asked.append(page.locator("dialog pre").first.inner_text())
        summary = page.locator("dialog .branch summary").first.inner_text()
        page.keyboard.press("Escape")

    assert summary == "samples: at most 1 of 1 files"
    command = "clipaudit why similarity_gap_check --column images --where"
    # the first row's `search` is hostile, so its test set identifies it
    conditions = "testset_title = 'Val'", "search = 'b-pruned'"
    results = reader.folder.parent
    folders = f"--results {results} --store {results.parent / 'store'}"
    assert asked == [f'{command} "{each}" {folders}' for each in conditions]


def test_the_command_of_a_cell_selects_its_row_by_numbers_where_texts_are_equal(reader):
    page = reader.open("figures/similarity_fig2.html")
    page.locator("#data > summary").click()

    page.locator("#similarity_fig2 tbody").nth(1).locator("td[data-r]").last.click()

    command = page.locator("dialog pre").first.inner_text()
    assert command.startswith('clipaudit why similarity_fig2 --column similarity --where "row = 1"')


def test_samples_shown_in_galleries_have_pages_with_their_images(reader):
    page = reader.open("samples.html")

    page.locator("main a[href^='samples/']").first.click()

    assert page.locator("main img").first.evaluate("image => image.naturalWidth") == 8


def test_samples_are_found_by_words_and_shown_as_text(reader):
    page = reader.open("samples.html")

    page.locator("input[name=words]").fill("SCRIPT alert")

    expect(page.locator("#entries-found")).to_have_text("1 found")
    assert page.locator("#entries .what").first.inner_text() == "<script>alert(1)</script>\\x1b[31m"


def test_the_selection_is_stored_in_the_address_and_restored_from_it(reader):
    page = reader.open("samples.html")
    page.locator("select[name=corpus]").select_option("web")
    expect(page.locator("#entries-found")).to_have_text("2 found")
    address = page.url

    reader.open("index.html")
    page.goto(address)

    assert address.endswith("#corpus=web")
    expect(page.locator("#entries-found")).to_have_text("2 found")
    assert page.locator("select[name=corpus]").input_value() == "web"


def test_clearing_the_search_restores_the_page(reader):
    page = reader.open("samples.html")
    written = page.locator("#entries").inner_text()
    page.locator("input[name=words]").fill("nothing has this")
    expect(page.locator("#entries li")).to_have_count(0)

    page.locator("[data-clear]").click()

    expect(page.locator("#entries li")).to_have_count(2)
    assert page.locator("#entries").inner_text() == written


def test_a_table_can_be_copied(reader):
    page = reader.open(TABLE)
    button = page.locator("[data-copy]").first

    button.click()

    expect(button).to_have_text("Copied")
    assert page.evaluate("document.querySelector('textarea')") is None


def test_the_colour_scheme_is_switched_and_remembered(reader):
    page = reader.open("index.html")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")

    for _ in range(2):  # auto, light, dark
        page.locator("#theme").click()

    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before


def test_without_scripts_a_table_can_be_read(chromium, tmp_path, monkeypatch):
    folder = TinySite(tmp_path, monkeypatch).write()
    page = chromium.new_context(java_script_enabled=False).new_page()

    page.goto(f"file://{folder}/{TABLE}")

    assert page.locator("tbody tr").count() == 2
    assert not page.locator(".needs-js").first.is_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_the_foot_of_a_page_speaks_of_clicks_only_where_they_lead(
    chromium, tmp_path, monkeypatch, scripts
):
    folder = TinySite(tmp_path, monkeypatch).write()
    page = chromium.new_context(java_script_enabled=scripts).new_page()

    page.goto(f"file://{folder}/index.html")  # its own tables trace nothing

    told = "Under Tables and Figures, click a number to trace it to its source files."
    foot = page.locator("footer").inner_text()
    assert ("click" in foot.lower(), told in foot) == (scripts, scripts)


def test_answers_are_saved_as_a_file_usable_in_the_settings(chromium, tmp_path, monkeypatch):
    folder = asking_site(tmp_path, monkeypatch).write()
    page = chromium.new_page()
    page.goto(f"file://{folder}/look/parrot.checked.web.html")

    page.locator(f'[data-uid="{UIDS[1]}"] input[value=no]').check()
    expect(page.locator("#answered")).to_have_text("1 of 2 answered")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the answers").click()

    saved.value.save_as(tmp_path / saved.value.suggested_filename)
    samples = pa.table({"shard": [0, 0], "row": [0, 1], "uid": UIDS})
    rows = checked_text([samples], tmp_path / "parrot.checked.web.csv").to_pylist()
    assert rows == [{"shard": 0, "row": 1, "has_text": False}]
    page.close()


def drag(page, *, left, right):
    """Drag a rectangle over a map, from the top to the bottom of these shares of its width."""
    box = page.locator("#map").bounding_box()
    page.mouse.move(box["x"] + left * box["width"], box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + right * box["width"], box["y"] + box["height"] - 2)
    page.mouse.up()


def test_a_long_word_on_a_card_is_wrapped(reader):
    text = reader.open("samples.html").locator(".cards .what").first

    text.evaluate("element => (element.textContent = 'x'.repeat(100))")

    assert text.evaluate("element => element.scrollWidth <= element.clientWidth")


def test_a_rectangle_on_the_map_lists_its_images_with_their_pages(map_reader):
    page = map_reader.open("map.html")
    expect(page.locator("#map-legend li")).to_have_count(1)

    drag(page, left=0.01, right=0.5)

    expect(page.locator("#map-said")).to_have_text("Images selected: 1")
    page.locator("#map-list a").click()
    assert page.url.endswith("samples/web-0-0.html")


def test_the_map_works_by_keyboard(map_reader):
    page = map_reader.open("map.html")
    expect(page.locator("#map-legend li")).to_have_count(1)
    page.locator("#map").focus()

    for _ in range(24):  # the rectangle begins in the middle
        page.keyboard.press("ArrowUp")
    for _ in range(22):  # the second image is at the right
        page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#map-said")).to_have_text("No image here")
    for _ in range(24):
        page.keyboard.press("ArrowDown")

    expect(page.locator("#map-said")).to_have_text("Images selected: 1")
    page.keyboard.press("Escape")
    expect(page.locator("#map-said")).to_have_text("No image selected")


def test_the_count_of_selected_images_is_a_heading_and_is_announced(map_reader):
    page = map_reader.open("map.html")
    expect(page.locator("#map-legend li")).to_have_count(1)

    drag(page, left=0.01, right=0.5)

    expect(page.get_by_role("heading", name="Images selected: 1")).to_have_count(1)
    expect(page.get_by_role("status")).to_have_text("Images selected: 1")


def test_a_colour_of_the_map_shows_only_its_images(map_reader):
    page = map_reader.open("map.html")
    expect(page.locator("#map-legend li")).to_have_count(1)
    page.locator("#map-colour").select_option(label="pruned")

    page.locator("#map-legend button", has_text="kept (1)").click()

    expect(page.locator("#map-said")).to_have_text("Images selected: 1")
    expect(page.locator("#map-list")).to_contain_text("web, shard 0, row 1 \u00b7 pruned: kept")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_map_fits_the_window_and_its_layout_is_stable_while_it_loads(map_reader, width):
    map_reader.page.set_viewport_size({"width": width, "height": 844})
    map_reader.page.add_init_script(
        "window.moved = 0; new PerformanceObserver(list => list.getEntries().forEach("
        "entry => window.moved += entry.value)).observe({type: 'layout-shift', buffered: true})"
    )

    page = map_reader.open("map.html")

    expect(page.locator("#map-legend li")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("window.moved") == 0


@pytest.mark.parametrize(("media", "chosen", "dark"), [
    ("light", None, False), ("dark", None, True), ("dark", "light", False), ("light", "dark", True),
])  # fmt: skip
def test_a_drawing_is_dark_on_a_dark_page(reader, media, chosen, dark):
    page = reader.open("figures/similarity_fig3.html")
    page.emulate_media(color_scheme=media)
    page.evaluate("theme => theme && (document.documentElement.dataset.theme = theme)", chosen)

    assert ("invert" in look(page, "filter")) == dark


def test_a_drawing_is_printed_on_white(reader):
    page = reader.open("figures/similarity_fig3.html")

    page.emulate_media(color_scheme="dark", media="print")

    assert look(page, "filter") == "none"


def test_a_tall_figure_is_printed_on_one_page(reader):
    page = reader.open("figures/similarity_fig3.html")
    page.set_viewport_size({"width": 700, "height": 200})

    page.emulate_media(media="print")

    assert 0 < page.locator("img.drawing").bounding_box()["height"] <= 200


def test_a_table_of_many_short_columns_fits_a_printed_page(reader):
    page = reader.open(TABLE)
    page.set_viewport_size({"width": 700, "height": 1000})
    page.evaluate(
        "for (const row of document.querySelectorAll('.why tr'))"
        " for (let more = 0; more < 4; more++) row.append(row.lastElementChild.cloneNode(true))"
    )

    page.emulate_media(media="print")

    assert page.locator(".why").evaluate("table => table.scrollWidth") <= 700


def test_a_printed_table_has_no_signs_of_buttons(reader):
    page = reader.open(TABLE)

    page.emulate_media(media="print")

    assert not page.get_by_text("Click a heading to sort").is_visible()
    heading = page.locator(".why thead th").first
    arrow = heading.evaluate("heading => getComputedStyle(heading, '::after').content")
    button = heading.locator("button").evaluate("button => getComputedStyle(button).display")
    assert (arrow, button) == ("none", "contents")


def look(page, of):
    return page.locator("img.drawing").evaluate("(image, of) => getComputedStyle(image)[of]", of)
