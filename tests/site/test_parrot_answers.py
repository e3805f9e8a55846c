"""What the report answers on captions that spell the text in their images."""

import pytest
from test_site_answers import answer


def text(measure, unit, value, tokenization=None, title="posters", corpus="posters"):
    return {
        "measure": measure, "unit": unit, "tokenization": tokenization, "corpus": corpus,
        "corpus_title": title, "value": value, "value_low": 0.067, "value_high": 0.652,
        "pictures": 10,
    }  # fmt: skip


def test_parrots_are_counted_among_all_captions_and_those_of_images_with_text():
    rows = [
        text("images", "count", 10.0),
        text("with_text", "share", 0.5),
        text("parroting", "share", 0.6, "words"),
        text("parrots", "share", 0.3, "words"),
    ]

    found = answer("parrot", parrot_table1=rows)

    assert found.headline == (
        "3 of 10 captions of posters repeat a word of the text in their image, 30.0 % [6.7, 65.2], "
        "false alarms: not checked."
    )
    assert found.sentences[0].text == (
        "posters: text was read in 50.0 % [6.7, 65.2] of 10 images, and 60.0 % [6.7, 65.2] of "
        "their captions repeat a word of it. False alarms: not checked."
    )


@pytest.mark.parametrize(
    ("missing", "end"), [(0.0, "."), (12.0, ", images without caption words: 12.")]
)
def test_images_without_a_caption_are_counted_beside_the_captions(missing, end):
    rows = [
        text("parrots", "share", 0.3, "words"),
        text("without_words", "count", missing, "words"),
    ]

    found = answer("parrot", parrot_table1=rows)

    assert found.headline.endswith(f"false alarms: not checked{end}")


def test_the_mean_share_of_words_comes_with_its_interval():
    rows = [text("images", "count", 10.0), text("with_text", "share", 0.5)]
    rows += [text(name, "share", 0.3, "words") for name in ("rate", "rate_with_text")]

    found = answer("parrot", parrot_table1=rows)

    assert (
        "On average 30.0 % [6.7, 65.2] of a caption's words appear in its image, 30.0 % [6.7, 65.2]"
        " if the image has text." in found.sentences[0].text
    )


def test_a_share_of_images_with_text_comes_with_its_false_alarms():
    rows = [
        text("images", "count", 10.0),
        text("with_text", "share", 0.5),
        text("parrots", "share", 0.3, "words"),
        text("false_alarms", "share", 0.1),
        text("missed", "share", 0.3),
    ]

    found = answer("parrot", parrot_table1=rows)

    alarms = "10.0 % [6.7, 65.2] of 10 images without text"
    assert found.headline.endswith(f", false alarms: {alarms}.")
    assert found.sentences[0].text.endswith(
        f"False alarms: {alarms}; missed: 30.0 % [6.7, 65.2] of 10 images with text."
    )
    assert found.lines[0][-1] == "10.0 [6.7, 65.2]"


def probed(reading=(0.06, 0.03, 0.09), right=(0.15, 0.08, 0.25), chance=0.03):
    """A row of a table of trained models: own less other words, the right word, their intervals."""
    names = [f"{name}{end}" for name in ("reading", "right_word") for end in ("", "_low", "_high")]
    row = dict(zip(names, (*reading, *right), strict=True))
    return row | {
        "title": "w/ text",
        "encoder": "a",
        "chance": chance,
        "average": None,
        "sync": 0.9,
    }


def test_a_model_is_shown_to_read_if_both_intervals_show_it():
    (sentence,) = answer("parrot", parrot_table2=[probed()]).sentences

    assert sentence.table == "parrot_table2"
    assert sentence.text == (
        "Shown to read words: w/ text (own less other words +0.060 [+0.030, +0.090], right word in "
        "15.0 % [8.0, 25.0], by chance 3.0 %)."
    )


def test_no_model_is_shown_to_read_beside_bounds_that_are_rounded_to_chance():
    row = probed(reading=(0.002, 0.0003, 0.004), right=(0.03, 0.02004, 0.05), chance=0.02)

    (sentence,) = answer("parrot", parrot_table2=[row]).sentences

    assert "+0.0020 [+0.0003, +0.0040]" in sentence.text
    assert "3.000 % [2.004, 5.000], by chance 2.000 %" in sentence.text


@pytest.mark.parametrize(
    "row",
    [
        probed(reading=(0.06, -0.01, 0.13)),
        probed(reading=(0.06, 0.0, 0.12)),
        probed(reading=(0.06, None, None)),
        probed(reading=(-0.03, -0.05, -0.01)),
        probed(right=(0.05, 0.01, 0.2)),
        probed(right=(0.05, 0.03, 0.2)),
    ],
)
@pytest.mark.parametrize("table", ["parrot_table2", "parrot_table3", "parrot_table8"])
def test_a_high_sync_is_no_finding_if_an_interval_contains_zero_or_chance(table, row):
    (sentence,) = answer("parrot", **{table: [row]}).sentences

    assert sentence.text.startswith("Not shown to read words: w/ text (own less other words ")
    assert "Shown to read" not in sentence.text


def test_models_shown_to_read_come_first_and_each_model_appears_once():
    other = probed(right=(0.05, 0.01, 0.2)) | {"title": "w/o text", "encoder": "b"}

    (sentence,) = answer(
        "parrot", parrot_table2=[other, probed()], parrot_table3=[probed()]
    ).sentences

    assert sentence.text.startswith("Shown to read words: w/ text (")
    assert ". Not shown to read words: w/o text (" in sentence.text


def test_models_of_filtered_sets_are_named_after_those_of_the_papers_tables():
    filtered = probed() | {"title": "highest score", "encoder": "b"}

    found = answer("parrot", parrot_filters=[probed(), filtered], parrot_table2=[probed()])

    assert [each.table for each in found.sentences] == ["parrot_table2", "parrot_filters"]
    assert found.sentences[1].text.startswith("Shown to read words: highest score (")


def over_seeds(against, reading, right):
    """The rows of an arm of the evidence, of all seeds and of one."""
    names = ("difference", "difference_low", "difference_high")
    rows = [
        {"measure": measure, "chance": 0.03, **dict(zip(names, values, strict=True))}
        for measure, values in (("reading", reading), ("right_word", right))
    ]
    shared = {"arm": "parrot", "against": against, "title": "CoTR, mean over seeds"}
    return [row | shared | {"recipe": recipe} for recipe in (None, "seed-0") for row in rows]


SHOWN = over_seeds("", (0.06, 0.01, 0.13), (0.15, 0.08, 0.25))
NOT_SHOWN = over_seeds("", (0.06, -0.01, 0.13), (0.15, 0.08, 0.25))


@pytest.mark.parametrize(
    ("rows", "start"), [(SHOWN, "Shown to read words: "), (NOT_SHOWN, "Not shown to read words: ")]
)
def test_the_difference_over_seeds_determines_the_claim(rows, start):
    (sentence,) = answer("parrot", parrot_evidence=rows).sentences

    assert sentence.text.startswith(f"{start}CoTR, mean over seeds (own less other words +0.060 [")


@pytest.mark.parametrize(
    ("alone", "low", "verdict"),
    [
        (
            SHOWN,
            0.01,
            "the first reads more; own less other words differ by +0.060 [+0.010, +0.130]",
        ),
        (SHOWN, 0.0, "no difference in reading is shown"),
        (NOT_SHOWN, 0.01, "no difference in reading is shown"),
    ],
)
def test_an_arm_reads_more_than_another_only_if_it_is_shown_to_read(alone, low, verdict):
    rows = alone + over_seeds("clean", (0.06, low, 0.13), (0.15, 0.08, 0.25))

    _, sentence = answer("parrot", parrot_evidence=rows).sentences

    assert sentence.text.startswith(f"CoTR, mean over seeds: {verdict}")


def test_the_reading_comes_with_the_accuracy_against_a_control():
    rows = over_seeds("erased", (0.06, 0.01, 0.13), (0.15, 0.08, 0.25))
    (pair,) = {(row["arm"], row["against"], row["title"]) for row in rows}
    accuracy = dict(
        zip(("difference", "difference_low", "difference_high"), (-0.05, -0.08, -0.02), strict=True)
    )
    named = dict(zip(("arm", "against", "title"), pair, strict=True))
    rows += [{"measure": "imagenet", "recipe": None, "chance": None} | named | accuracy]

    (sentence,) = answer("parrot", parrot_evidence=rows).sentences

    assert sentence.text.endswith(" Accuracy differs by \u22125.0 points [\u22128.0, \u22122.0].")


def test_the_cost_of_erasing_comes_with_that_of_random_removal():
    values = {"raw": 0.3, "rsa": 0.223, "random_rsa": 0.161, "rsc": 0.1, "random_rsc": None}
    model = {"corpus": "web", "encoder": "own", "model": "web, own"}
    bounds = {"value_low": 0.05, "value_high": 0.4}
    rows = [{**model, "measure": name, "value": each, **bounds} for name, each in values.items()]

    (sentence,) = answer("parrot", parrot_table9=rows).sentences

    assert sentence.text == (
        "web, own: the mean score is 0.300 [0.050, 0.400]; erasing all text from an image costs "
        "it 0.223 [0.050, 0.400] (the area of another image's text: 0.161 [0.050, 0.400]); "
        "erasing the repeated words from an image costs it 0.100 [0.050, 0.400]."
    )


def test_corpora_of_one_title_are_all_told():
    rows = [text("parrots", "share", share, "words", corpus=str(share)) for share in (0.5, 0.3)]

    found = answer("parrot", parrot_table1=rows)

    assert found.headline.startswith("5 of 10 captions of posters ")
    assert "; 3 of 10 captions of posters " in found.headline
    assert len(found.lines) == 2


def test_names_from_data_are_sanitized():
    rows = [text("parrots", "share", 0.5, "words", title="a\x1b[31m")]

    assert "a\\x1b[31m" in answer("parrot", parrot_table1=rows).headline
