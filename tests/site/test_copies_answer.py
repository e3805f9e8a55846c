import pytest

from clipaudit.copies.reports.answer import copies_answer

SUMMARY = {
    "testset_title": "Val", "images": 30, "with_copy": 12, "share": 0.4, "share_low": 0.23,
    "share_high": 0.59, "largest_low": 0.19, "largest_high": 0.63,
    "identical_bytes": 2, "identical_pixels": 0, "resized": 9, "edited": 1,
    "training_images": 14, "searched": 60, "is_sampled": False, "crowded": 0,
}  # fmt: skip
NONE = {**SUMMARY, "testset_title": "A", "with_copy": 0, "share": 0.0, "edited": 0, "resized": 0}
WITHIN = {
    "corpus_title": "Web", "images": 9, "repeats": 3, "largest": 2, "share": 1 / 3,
    "is_sampled": False,
}  # fmt: skip
MADE = {"method": "hash", "method_title": "hash", "position": 0, "copies": 10}


def test_the_headline_names_the_share_with_its_interval():
    found = copies_answer({"copies_summary": [SUMMARY]})

    assert found.headline == (
        "Yes: 12 of 30 images of Val have a copy in the training data, 40.0 % [19.0, 63.0]."
    )
    assert "2 identical bytes, 9 re-encoded or resized, 1 edited" in found.sentences[0].text


def test_the_interval_of_the_largest_share_allows_for_its_choice():
    found = copies_answer({"copies_summary": [SUMMARY, NONE, NONE]})

    assert "40.0 % [19.0, 63.0]" in found.headline
    assert found.lines[0][-1] == "40.0 % [23.0, 59.0]"
    assert "The answer names the largest share of several; its interval" in found.note


def test_without_a_copy_no_share_is_called_the_largest():
    assert "largest" not in copies_answer({"copies_summary": [NONE, NONE]}).note


def test_small_and_large_shares_are_not_rounded_to_none_and_all():
    share = {"share": 12 / 50_000, "largest_low": 0.00012, "largest_high": 0.00042}
    rare = {**SUMMARY, "images": 50_000, **share}
    within = {**WITHIN, "images": 1_000_000, "repeats": 300, "share": 0.0003}

    found = copies_answer({"copies_summary": [rare], "copies_within": [within]})

    assert found.headline.endswith("have a copy in the training data, 0.024 % [0.012, 0.042].")
    assert "repeat another one, 0.030 %;" in found.sentences[1].text


def test_a_test_set_of_which_no_image_was_read_is_named():
    unread = {**NONE, "testset_title": "B", "images": 0, "share": None}

    found = copies_answer({"copies_summary": [NONE, unread]})

    assert found.headline == "No copy of an image of A was found; no image of B could be read."
    assert found.sentences[1].text == "B: no image could be read, so none was compared."
    assert copies_answer({"copies_summary": [unread]}).headline == (
        "Cannot be said: no image of B could be read."
    )


def test_without_a_training_image_nothing_is_said():
    found = copies_answer({"copies_summary": [{**NONE, "searched": 0}]})

    assert found.headline == "Cannot be said: no training image could be read."


def test_a_single_copy_is_told_in_the_singular():
    found = copies_answer({"copies_summary": [{**SUMMARY, "with_copy": 1, "training_images": 1}]})

    assert found.headline.startswith("Yes: 1 of 30 images of Val has a copy")
    assert found.sentences[0].text.endswith("; 1 training image is a copy of them.")


def test_further_test_sets_with_copies_are_named():
    other = {**SUMMARY, "share": 0.1, "testset_title": "Sketch"}
    found = copies_answer({"copies_summary": [SUMMARY, other, NONE]})

    assert found.headline.endswith("; so do images of Sketch.")


def test_a_sample_of_the_training_images_gives_lower_bounds():
    found = copies_answer({"copies_summary": [{**SUMMARY, "is_sampled": True}]})

    assert found.headline.startswith("Yes: at least 12 of 30 images of Val")
    assert found.sentences[-1].text.startswith("Only a random sample of 60 training images")


def test_training_images_with_too_many_candidates_give_lower_bounds():
    found = copies_answer({"copies_summary": [{**SUMMARY, "crowded": 2}]})

    assert found.headline.startswith("Yes: at least 12 of 30 images of Val")
    assert "2 training images resemble 50 test images or more." in found.sentences[1].text


def test_without_a_copy_no_copy_is_claimed():
    assert copies_answer({"copies_summary": [NONE]}).headline == (
        "No copy of an image of A was found."
    )


def test_a_test_set_without_images_has_no_share():
    empty = {**NONE, "images": 0, "share": None, "share_low": None, "share_high": None}

    (line,) = copies_answer({"copies_summary": [empty]}).lines

    assert line == ("A", "0", "0", "\N{EN DASH}")


def test_without_a_test_set_the_answer_is_about_repeats():
    found = copies_answer({"copies_within": [WITHIN]})

    assert found.headline == "No test set is named, so only repeats were searched for."
    assert found.sentences[0].text.startswith("3 of 9 images of Web repeat another one")


def test_repeats_are_not_counted_without_an_image():
    empty = {**WITHIN, "images": 0, "repeats": 0, "largest": 0, "share": None}

    (sentence,) = copies_answer({"copies_within": [empty]}).sentences

    assert sentence.text == "Web: no image could be read, so none was compared."


def test_repeats_in_a_sample_are_stated_of_the_sample():
    (sentence,) = copies_answer({"copies_within": [{**WITHIN, "is_sampled": True}]}).sentences

    assert sentence.text == (
        "3 of 9 sampled images of Web repeat another one in the sample, 33.3 %; the largest group "
        "has 2."
    )


def made(false_positives):
    """Return tables of copies made in three ways; only crops are certainly missed."""
    shares = {"crop": (0.1, 0.3), "border": (0.4, 0.7), "jpeg": (0.9, 1.0)}
    rows = [
        {**MADE, "transformation": name, "verified": 1, "verified_share": share}
        | {"verified_share_high": high}
        for name, (share, high) in shares.items()
    ]
    whole = {"position": None, "copies": 20, "verified": 11, "verified_share": 0.55}
    whole |= {"verified_share_low": 0.41, "verified_share_high": 0.69, "transformation": None}
    pairs = {"method": "hash", "negative_pairs": 900, "verified_false_positives": false_positives}
    return {"copies_calibration": [*rows, {**MADE, **whole}], "copies_thresholds": [pairs]}


@pytest.mark.parametrize(("called", "said"), [(0, "none a copy"), (3, "3 copies")])
def test_the_answer_states_what_the_search_misses_and_what_it_calls_copies(called, said):
    (sentence,) = copies_answer(made(called)).sentences

    assert sentence.text == (
        "Of 20 copies that were made on purpose, hash finds 55.0 % [41.0, 69.0]. It misses more "
        "than half at some strengths of these edits: crop. Of 900 pairs of different images it "
        f"calls {said}."
    )


@pytest.mark.parametrize("pairs", [{"verified_false_positives": None}, {"negative_pairs": 0}])
def test_without_compared_pairs_nothing_is_said_of_them(pairs):
    tables = made(0)
    tables["copies_thresholds"][0] |= pairs

    assert copies_answer(tables).sentences[0].text.endswith("these edits: crop.")
