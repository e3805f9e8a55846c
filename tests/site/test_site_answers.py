import pytest

from clipaudit.config.audits import audits
from clipaudit.reports.answers import Answer, Sentence
from clipaudit.reports.layouts import MINUS
from clipaudit.site.answers import Answered, answers


def accuracy(manifest, value, baseline=None, change=(None, None, None), testset="sketch"):
    share, low, high = change
    return {
        "manifest": manifest, "baseline": baseline, "recipe": "base", "testset": testset,
        "testset_title": testset.title(), "removed": 7, "accuracy": value,
        "accuracy_low": value - 0.1, "accuracy_high": value + 0.1, "relative_change": share,
        "relative_change_low": low, "relative_change_high": high,
        "relative_change_joint_low": low, "relative_change_joint_high": high,
    }  # fmt: skip


def gap(value, low, measure="prg", target="mean", k=10, public="scenes"):
    return {
        "point": "default", "measure": measure, "measure_title": measure.upper(), "target": target,
        "source": "", "k": k, "public": public, "public_title": public, "value": value,
        "value_low": low, "value_high": value + 0.1, "evaluated": 1000,
    }  # fmt: skip


def answer(audit, **tables):
    return next(each.answer for each in answers(tables, [audit], {}) if each.audit == audit)


def test_every_question_has_an_answer_in_order():
    found = answers({}, [], {})

    assert [each.question for each in found] == [audit.question for audit in audits()]
    assert {each.answer.headline for each in found} == {
        "Did not run: this run's settings do not enable it."
    }


@pytest.mark.parametrize("audit", [audit.name for audit in audits()])
def test_without_numbers_nothing_is_claimed(audit):
    found = answer(audit)

    assert found.headline.startswith("Cannot be said: ")
    assert found.sentences == ()


def test_a_certain_loss_is_stated_with_both_accuracies():
    rows = [
        accuracy("both", 0.5),
        accuracy("both.sketch-pruned", 0.2, "both", (-0.6, -0.7, -0.5)),
    ]

    found = answer("similarity", similarity_table1=rows)

    assert "the accuracy on Sketch is lower" in found.headline
    assert "20.0 % [10.0, 30.0] instead of 50.0 % [40.0, 60.0]" in found.sentences[0].text
    assert "a relative change of −60.0 % [−70.0, −50.0]" in found.sentences[0].text  # noqa: RUF001
    assert found.lines[0][0] == "Sketch"


def test_a_model_that_is_no_better_than_chance_answers_nothing():
    rows = [
        {**accuracy("both", 0.25), "chance": 0.25},
        accuracy("both.sketch-pruned", 0.25, "both", (0, -0.2, 0.2)),
    ]

    found = answer("similarity", similarity_table1=rows)

    why = "the model trained without pruning is not certainly better than chance on Sketch"
    assert found.headline == f"Cannot be said: {why}."
    (sentence,) = found.sentences
    assert "its accuracy is 25.0 % [15.0, 35.0]; the same predictions" in sentence.text
    assert "at random, would have 25.0 %" in sentence.text


def test_the_change_on_other_test_sets_is_the_control():
    rows = [
        accuracy("both", 0.5),
        accuracy("both.sketch-pruned", 0.2, "both", (-0.6, -0.7, -0.5)),
        accuracy("both.sketch-pruned", 0.4, "both", (-0.15, -0.2, -0.1), "v2"),
        accuracy("both.sketch-pruned", 0.5, "both", (0.03, -0.1, 0.1), "val"),
        accuracy("both.v2-pruned", 0.5, "both", (0.3, -0.1, 0.4), "val"),
    ]

    found = answer("similarity", similarity_table1=rows)

    assert found.headline.startswith("In part, in one training run: ")
    assert found.headline.endswith("the loss there is smaller, by more than chance explains.")
    told = "Control: on the other 2 test sets it changes by −15.0 to +3.0 %."  # noqa: RUF001
    assert told in found.sentences[0].text


def test_a_loss_that_other_test_sets_also_have_refutes_that_similarity_causes_it():
    rows = [
        accuracy("both", 0.5),
        accuracy("both.sketch-pruned", 0.4, "both", (-0.2, -0.3, -0.1)),
        accuracy("both.sketch-pruned", 0.4, "both", (-0.21, -0.3, -0.1), "val"),
    ]

    found = answer("similarity", similarity_table1=rows)

    assert found.headline == (
        "Not that this run shows: removing the most similar samples causes no certain loss of "
        "accuracy beyond that on test sets that the pruning did not target on Sketch."
    )


@pytest.mark.parametrize(
    ("other", "certain"),
    [
        ((-0.05, -0.1, 0.0), True),
        ((-0.05, -0.25, 0.15), False),
        ((-0.05, None, None), False),
    ],
)
def test_the_chance_in_the_change_on_other_test_sets_counts(other, certain):
    rows = [
        accuracy("both", 0.5),
        accuracy("both.sketch-pruned", 0.4, "both", (-0.2, -0.3, -0.1)),
        accuracy("both.sketch-pruned", 0.5, "both", other, "val"),
    ]

    found = answer("similarity", similarity_table1=rows)

    assert found.headline.startswith("In part, " if certain else "Not that this run shows: ")


def test_a_test_set_on_which_the_model_guesses_is_no_control():
    rows = [
        accuracy("both", 0.5),
        {**accuracy("both", 0.1, testset="val"), "chance": 0.1},
        accuracy("both.sketch-pruned", 0.4, "both", (-0.2, -0.3, -0.1)),
        accuracy("both.sketch-pruned", 0.1, "both", (0.0, -0.9, 0.9), "val"),
    ]

    found = answer("similarity", similarity_table1=rows)

    assert found.headline.startswith("In part, ")
    assert found.headline.endswith("There is no control.")


@pytest.mark.parametrize(("joint", "fell"), [(-0.01, True), (0.01, False)])
def test_a_loss_is_judged_by_an_interval_for_all_test_sets_together(joint, fell):
    first = controlled((-0.11, -0.2, -0.02), joint=joint)
    second = [
        {**row, "testset": "val", "testset_title": "Val"}
        | {"manifest": row["manifest"].replace("sketch", "val")}
        | {"control": row["control"] and row["control"].replace("sketch", "val")}
        for row in controlled((-0.01, -0.1, 0.1))
    ]

    found = answer("similarity", similarity_table1=[*first, *second])

    assert found.headline.startswith("In part, " if fell else "Not that this run shows: ")
    assert ("at 95 % for all 2 test sets together; on Val no such" in found.headline) == fell


def off_line(testset, robustness, manifest="both.sketch-pruned", margin=0.1):
    known = None not in (robustness, margin)
    return {
        "effective_robustness_low": robustness - margin if known else None,
        "effective_robustness_high": robustness + margin if known else None,
        "manifest": manifest, "testset": testset, "testset_title": testset.title(),
        "is_reference": testset == "val", "reference_accuracy": 0.6834, "accuracy": 0.4478,
        "expected_accuracy": 0.4478 - (robustness or 0), "effective_robustness": robustness,
        "points": 5, "published_accuracy": None, "published_expected_accuracy": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("robustness", "margin", "told"),
    [
        (0.3078, 0.1, "+30.8 points [+20.8, +40.8]. So similarity does not explain all of its"),
        (0.02, 0.1, "+2.0 points [−8.0, +12.0]. So nothing shows that more"),  # noqa: RUF001
        (-0.02, 0.1, "−2.0 points [−12.0, +8.0]. So nothing shows that more"),  # noqa: RUF001
        (0.3078, None, "+30.8 points. Too few models give the line an interval"),
    ],
)
def test_a_pruned_model_is_stated_with_its_distance_from_the_line(robustness, margin, told):
    pruned = accuracy("both.sketch-pruned", 0.4478, "both", (-0.1, -0.2, -0.05))
    rows = [off_line("val", None), off_line("sketch", robustness, margin=margin)]
    rows.append(off_line("a", 0.1))
    rows.append(off_line("sketch", 0.2, "both.val-pruned"))

    found = answer("similarity", similarity_table1=[pruned], similarity_robustness=rows)

    (text,) = [each.text for each in found.sentences if each.table == "similarity_robustness"]
    assert text.startswith("Sketch: the same model reaches 44.8 %. A model of the small set alone")
    assert "that also has 68.3 % on Val" in text
    assert "through 5 models" in text
    assert told in text


def test_the_distance_from_the_line_is_of_the_first_of_several_training_runs():
    pruned = accuracy("both.sketch-pruned", 0.4, "both", (-0.1, -0.2, -0.05)) | {"seeds": 5}
    rows = [off_line("val", None), off_line("sketch", 0.1)]

    found = answer("similarity", similarity_table1=[pruned], similarity_robustness=rows)

    (text,) = [each.text for each in found.sentences if each.table == "similarity_robustness"]
    assert text.startswith("Sketch: the first of these training runs reaches 44.8 %.")


def test_the_reference_test_set_has_no_excess_beyond_itself():
    excess = {"measure": "excess", "value": 0.0, "value_low": None, "value_high": None}
    val = excess | {"testset": "val", "testset_title": "Val"}
    sketch = {"testset": "sketch", "testset_title": "Sketch", "measure": "excess"}
    sketch |= {"value": -0.1, "value_low": -0.2, "value_high": -0.05}

    (sentence,) = answer("similarity", similarity_evidence=[val, sketch]).sentences

    assert sentence.text.endswith("reference test set, −10.0 points [−20.0, −5.0].")  # noqa: RUF001


def test_a_small_distance_of_near_duplicates_is_not_rounded_to_0():
    row = {"testset_title": "Val", "corpus_title": "Web", "near_duplicates": 3, "images": 10}
    row |= {"distance": 0.0004, "share": 0.3, "share_low": 0.1, "share_high": 0.6}

    (sentence,) = answer("similarity", similarity_table2=[row]).sentences

    assert "(1 - similarity below 0.0004), 30.0 %" in sentence.text


def test_an_interval_that_contains_zero_is_no_loss():
    row = accuracy("both.sketch-pruned", 0.5, "both", (-0.1, -0.2, 0.1))

    found = answer("similarity", similarity_table1=[row])

    assert found.headline.startswith("Not that this run shows: ")


def test_a_change_without_an_interval_claims_nothing():
    row = accuracy("both.sketch-pruned", 0.5, "both", (0.0, None, None))

    found = answer("similarity", similarity_table1=[row])

    assert found.headline.startswith("Cannot be said: the changes of accuracy have no intervals")


def test_a_pruning_to_another_test_set_does_not_count():
    row = accuracy("both.val-pruned", 0.5, "both", (-0.6, -0.7, -0.5), testset="sketch")

    assert answer("similarity", similarity_table1=[row]).headline.startswith("Cannot be said")


def test_a_pruning_that_was_not_trained_does_not_count():
    row = {**accuracy("both.sketch-pruned", 0.5, "both"), "accuracy": None}

    assert answer("similarity", similarity_table1=[row]).headline.startswith("Cannot be said")


def test_a_kept_sample_above_the_gap_is_reported():
    rows = [{"above": 2, "images": 30}]

    (sentence,) = answer("similarity", similarity_gap_check=rows).sentences

    assert "2 of 30 searches" in sentence.text
    assert "do not trust the pruning" in sentence.text


def test_public_sets_of_one_title_are_all_told():
    rows = [gap(0.2, 0.1, public="web") | {"public": public} for public in ("first", "second")]

    assert len(answer("memorization", memorization_gaps=rows).lines) == 2


def nearer(corpus, share, testset):
    titles = {"corpus_title": corpus, "testset_title": testset}
    bounds = {"share_low": share - 0.1, "share_high": share + 0.1}
    return {"corpus": corpus, "testset": testset, "share": share, **bounds, **titles}


@pytest.mark.parametrize(
    ("deduplicated", "told"),
    [
        (0.9, "66.4 % [56.4, 76.4] (R) to 90.0 % [80.0, 100.0] (Sketch) in web and in web without"),
        (0.8, "[80.0, 100.0] (Sketch) in web; 66.4 % [56.4, 76.4] (R) to 80.0 % [70.0, 90.0] (Ske"),
    ],
)
def test_one_sentence_states_both_forms_of_the_large_set(deduplicated, told):
    rows = [nearer("web", 0.9, "Sketch"), nearer("web", 0.664, "R")]
    rows += [nearer("web without copies", deduplicated, "Sketch")]
    rows += [nearer("web without copies", 0.664, "R")]

    (sentence,) = answer("similarity", similarity_table7=rows).sentences

    assert told in sentence.text


@pytest.mark.parametrize(
    ("text", "has_intervals"),
    [
        ("10.2 % [6.7, 14.5]", True),
        (f"a change of {MINUS}0.2 [{MINUS}0.31, +0.05]", True),
        ("Sketch [v2]: 3 of 5 images", False),
        ("nothing", False),
    ],
)
def test_an_answer_records_if_it_has_intervals(text, has_intervals):
    for said in (Answer(text), Answer("", (Sentence(text, ""),)), Answer("", lines=((text,),))):
        assert Answered("a", "?", True, said).has_intervals == has_intervals


def collapsed(testset="sketch", position=0):
    return {
        "position": position, "encoder_title": "B/16", "testset": testset,
        "testset_title": testset.title(), "random_mean": 0.99951, "nearest_mean": None,
        "effective_rank": 1.25, "collapsed": True,
    }  # fmt: skip


def test_a_collapsed_encoder_suppresses_the_claims_of_its_test_sets():
    pruned = accuracy("both.sketch-pruned", 0.2, "both", (-0.6, -0.7, -0.5))
    rows = [nearer("web", 0.5, "sketch")]

    found = answer(
        "similarity",
        similarity_table1=[pruned],
        similarity_table7=rows,
        similarity_encoders=[collapsed()],
    )

    assert found.headline == (
        "Cannot be said: the encoder B/16 does not distinguish the test images."
    )
    (sentence,) = found.sentences
    assert "Sketch: the encoder B/16 does not distinguish images" in sentence.text
    assert "a similarity of 0.9995 on average" in sentence.text
    assert found.lines == ()


def uncounted(note):
    return {"testset_title": "Sketch", "corpus_title": "web", "share": None, "note": note}


@pytest.mark.parametrize(
    ("encoders", "note", "why"),
    [
        ([collapsed()], "", "the encoder B/16 does not distinguish the test images"),
        ([], "calibration chose no threshold", "calibration chose no threshold"),
        ([], None, "no similarities were computed"),
    ],
)
def test_without_training_the_headline_says_why_nothing_was_counted(encoders, note, why):
    found = answer("similarity", similarity_table2=[uncounted(note)], similarity_encoders=encoders)

    assert found.headline == f"Cannot be said: {why}."


@pytest.mark.parametrize("elsewhere", [collapsed("val"), collapsed(position=1)])
def test_other_test_sets_and_other_encoders_suppress_no_claim(elsewhere):
    pruned = accuracy("both.sketch-pruned", 0.2, "both", (-0.6, -0.7, -0.5))

    found = answer("similarity", similarity_table1=[pruned], similarity_encoders=[elsewhere])

    assert "the accuracy on Sketch is lower" in found.headline
    assert [each.table for each in found.sentences] == [
        "similarity_encoders",
        *["similarity_table1"] * 2,  # the loss, and that there is no random control
    ]


@pytest.mark.parametrize(
    ("lows", "start"),
    [
        ((0.1, 0.1), "Yes, in this pair of models: a model trained on a record recovers"),
        ((0.1, -0.1), "Yes, in this pair of models"),
        ((-0.1, 0.1), "Not that this run shows in this pair of models: PRG +0.200"),
        ((-0.3, 0.1), "Not that this run shows"),
    ],
)
def test_a_single_gap_answers_if_models_memorize(lows, start):
    """PRG with the fewest images; further measures, numbers and public sets add no false alarm."""
    prg, others = (gap(0.2, low) for low in lows), [gap(0.2, 0.1, k=20), gap(0.2, 0.1, "aucg")]
    first, other = prg

    rows = [first, {**other, "measure": "ppg"}, *others, gap(0.2, 0.1, public="small")]

    assert answer("memorization", memorization_gaps=rows).headline.startswith(start)


def test_the_gap_is_stated_with_its_control():
    rows = [gap(0.2, 0.1), gap(0.01, -0.1, target="control")]

    found = answer("memorization", memorization_gaps=rows)

    text = found.sentences[0].text
    assert "PRG is +0.200 [+0.100, +0.300] over 1\N{NARROW NO-BREAK SPACE}000 records" in text
    assert "Control: on records that neither model saw, PRG is +0.010" in text
    assert [line[0] for line in found.lines] == ["scenes, 10", "control"]


def test_one_pair_of_models_gives_a_claim_about_itself_and_several_seeds_about_all():
    rows = [gap(0.2, 0.1)]
    over_seeds = [{**gap(0.1, -0.1), "setting": "default", "seeds": 5}]

    one = answer("memorization", memorization_gaps=rows)
    several = answer("memorization", memorization_gaps=rows, memorization_evidence=over_seeds)

    assert one.headline.endswith("Other training runs may differ: memorization.seeds trains more.")
    assert several.headline.startswith("Not that this run shows over 5 seeds")
    assert several.sentences[0].table == "memorization_evidence"


def test_one_direction_alone_makes_no_claim():
    rows = [gap(0.4, 0.3, target="a"), gap(0.01, -0.1)]

    headline = answer("memorization", memorization_gaps=rows).headline

    assert headline.startswith("Not that this run shows")


def test_each_source_is_stated_in_addition_to_all_sources():
    rows = [gap(0.2, 0.1), {**gap(0.0, -0.05), "source": "album", "source_title": "Album"}]

    text = answer("memorization", memorization_gaps=rows).sentences[0].text

    assert "in Album alone +0.000 [\N{MINUS SIGN}0.050, +0.100]" in text


def test_settings_other_than_the_default_give_no_answer():
    row = {**gap(0.2, 0.1), "point": "masked"}

    assert answer("memorization", memorization_gaps=[row]).headline.startswith("Cannot be said")


def test_records_without_objects_are_not_called_unasked():
    row = gap(0.2, 0.1) | {"value": None, "value_low": None, "value_high": None, "evaluated": 0}

    headline = answer("memorization", memorization_gaps=[row]).headline

    why = "a gap needs two models, and records of both whose images show an object"
    assert headline == f"Cannot be said: {why}."


def pair(score, value, low, *, encoder="mine", control_fails=False, by_lot=True):
    return {
        "encoder": encoder, "source": "web", "holdout": "web", "score": score, "measure": "auc",
        "test_title": f"Web, {encoder}", "value": value, "value_low": low,
        "value_high": value + 0.05, "members": 900, "holdout_records": 800,
        "control_fails": control_fails, "by_lot": by_lot,
    }  # fmt: skip


def pair_rows(low, *, encoder="mine", control_fails=False, by_lot=True):
    """The AUCs of a pair test; `low` is the lower bound of that of the difference."""
    kinds = {"encoder": encoder, "by_lot": by_lot}
    return [
        pair("target", 0.7, 0.65, **kinds),
        pair("difference", 0.8, low, **kinds),
        pair("reference", 0.52, 0.48, control_fails=control_fails, **kinds),
    ]


@pytest.mark.parametrize(
    ("rows", "start"),
    [
        (pair_rows(0.75), "Yes, in every test: the model distinguishes"),
        (pair_rows(0.75) + pair_rows(0.45, encoder="other"), "Yes, in part: in 1 of 2 tests"),
        (pair_rows(0.45), "Not shown: no interval of an AUC"),
        (pair_rows(0.75, control_fails=True), "Cannot be said: the reference"),
        (pair_rows(0.75, by_lot=False), "Cannot be said: the model distinguishes its training"),
        (
            pair_rows(0.75) + pair_rows(0.75, encoder="other", by_lot=False),
            "Yes, in part: in 1 of 2 tests",
        ),
    ],
)
def test_targets_memorize_pairs_if_the_difference_shows_it_and_the_control_holds(rows, start):
    assert answer("memorization", memorization_pairs=rows).headline.startswith(start)


def test_targets_are_stated_with_both_aucs_and_the_limit_of_the_test():
    found = answer("memorization", memorization_pairs=pair_rows(0.75))

    first, last = (sentence.text for sentence in found.sentences)
    assert "0.800 [0.750, 0.850] by the cosine minus the reference's, 0.700 [0.650" in first
    assert "train two models in this run" in last
    assert found.lines[0][-1] == "0.520 [0.480, 0.570]"


@pytest.mark.parametrize(
    ("rows", "warning"),
    [
        (pair_rows(0.75, control_fails=True), "the reference alone reaches 0.520 [0.480, 0.570]"),
        (pair_rows(0.75, by_lot=False), "members and hold-out come from different sources"),
    ],
)
def test_an_inconclusive_pair_test_is_stated_with_a_warning(rows, warning):
    text = answer("memorization", memorization_pairs=rows).sentences[0].text

    assert f"Warning: {warning}" in text


def test_gaps_come_with_the_pair_test_of_the_first_model_and_their_meaning():
    rows = pair_rows(0.75) + pair_rows(0.3, encoder="other")

    found = answer("memorization", memorization_gaps=[gap(0.2, 0.1)], memorization_pairs=rows)

    assert found.headline.startswith("Yes, in this pair of models")
    sentence = found.sentences[-1]
    assert sentence.table == "memorization_pairs"
    assert "0.800 [0.750, 0.850]" in sentence.text
    assert "0.300" not in sentence.text
    assert "may know every pair while the gaps above are small" in sentence.text
    assert "Warning" not in sentence.text


def test_a_control_that_excludes_a_half_gives_a_warning_next_to_gaps():
    rows = pair_rows(0.75, control_fails=True)

    found = answer("memorization", memorization_gaps=[gap(0.2, 0.1)], memorization_pairs=rows)

    assert "Warning: the reference alone reaches 0.520" in found.sentences[-1].text


def test_omissions_are_stated_once_at_the_end_of_the_answer():
    left_out = {
        "parrot_table2": {"8 are asked for.": ["curves/a"]},
        "parrot_table8": {"8 are asked for.": ["probes/a"]},
        "similarity_table1": {"another": ["curves/b"]},
    }

    found = answers({"parrot_table2": []}, ["parrot"], left_out)

    (parrot,) = (each.answer for each in found if each.ran)
    assert [(each.text, each.table) for each in parrot.sentences] == [
        (
            "Left out, the data are too small (curves/a, probes/a): 8 are asked for.",
            "parrot_table2",
        )
    ]


def controlled(against, seeds=3, joint=None):
    """Rows of an unpruned, a pruned and a random model; `against`: the change from the last."""
    share, low, high = against
    compared = {"control_change": share, "control_change_low": low, "control_change_high": high}
    compared["control_change_joint_low"] = low
    compared["control_change_joint_high"] = high if joint is None else joint
    none = dict.fromkeys(compared) | {"control": None, "seeds": seeds}
    own = accuracy("both.sketch-pruned", 0.4, "both", (-0.2, -0.25, -0.15))
    random = accuracy("both.random-as-sketch", 0.45, "both", (-0.1, -0.15, -0.05))
    return [
        accuracy("both", 0.5) | none,
        own | compared | {"control": "both.random-as-sketch", "seeds": seeds},
        random | none,
    ]


def test_a_pruned_model_is_compared_with_a_random_set_of_the_same_size():
    found = answer("similarity", similarity_table1=controlled((-0.11, -0.2, -0.02)))

    assert found.headline.startswith("In part, over 3 training runs: ")
    assert "lower than with as many random samples, by more than chance" in found.headline
    told = "by −10.0 % [−15.0, −5.0]; against that control it changes by −11.0 % [−20.0, −2.0]."  # noqa: RUF001
    assert told in found.sentences[0].text
    assert not any("no random control" in each.text for each in found.sentences)


def test_a_loss_that_a_random_set_also_has_is_not_certain():
    found = answer("similarity", similarity_table1=controlled((-0.03, -0.1, 0.04)))

    assert found.headline.startswith("Not that this run shows: ")
    assert "beyond what a random set of the same size loses on Sketch" in found.headline


def test_a_single_training_run_is_stated_even_next_to_a_random_set():
    found = answer("similarity", similarity_table1=controlled((-0.11, -0.2, -0.02), seeds=1))

    assert found.headline.startswith("In part, in one training run: ")
    assert "Another training run may differ." in found.headline


def test_a_single_training_run_that_loses_as_much_elsewhere_is_no_certain_loss():
    rows = controlled((-0.11, -0.2, -0.02), seeds=1)
    (pruned,) = [row for row in rows if row["manifest"] == "both.sketch-pruned"]
    rows.append(pruned | {"testset": "val", "testset_title": "Val"})

    found = answer("similarity", similarity_table1=rows)

    assert found.headline.startswith("Not that this run shows: ")


def test_without_a_random_set_the_missing_control_is_stated():
    row = accuracy("both.sketch-pruned", 0.2, "both", (-0.6, -0.7, -0.5))

    found = answer("similarity", similarity_table1=[row])

    assert found.sentences[1].text.startswith("There is no random control: ")


def agreement(kappa, low, high, encoder=0):
    return {
        "testset": "sketch", "testset_title": "Sketch", "encoder_position": encoder,
        "encoders_title": "A and B", "by_both": 30, "by_first_alone": 5, "by_other_alone": 7,
        "both_by_chance": 12.34, "jaccard": 0.714, "jaccard_low": 0.6, "jaccard_high": 0.8,
        "kappa": kappa, "kappa_low": low, "kappa_high": high,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        (
            (0.7, 0.6, 0.8),
            "by chance it would be 12.3. Cohen's kappa is 0.70 [0.60, 0.80]: more than",
        ),
        (
            (0.1, -0.1, 0.2),
            "0.10 [\N{MINUS SIGN}0.10, 0.20]: chance may give as much, so the",
        ),
        ((0.1, None, None), "Cohen's kappa is 0.10: no interval, so chance is not ruled out."),
    ],
)
def test_another_encoder_is_stated_with_the_chance_level(bounds, told):
    (sentence,) = answer("similarity", similarity_table5=[agreement(*bounds)]).sentences

    assert sentence.text.startswith(
        "Sketch, A and B: both encoders prune 30 of the 42 samples that either"
    )
    assert "prunes, 71.4 % [60.0, 80.0]" in sentence.text
    assert told in sentence.text


def test_a_collapsed_encoder_is_not_compared():
    blind = {
        "testset": "sketch", "testset_title": "Sketch", "encoder_title": "B", "position": 1,
        "collapsed": True, "random_mean": 1.0, "nearest_mean": 1.0, "effective_rank": 1.0,
    }  # fmt: skip
    rows = [agreement(0.7, 0.6, 0.8), agreement(0.6, 0.5, 0.7, encoder=1)]

    found = answer("similarity", similarity_encoders=[blind], similarity_table5=rows)

    (text,) = [each.text for each in found.sentences if each.table == "similarity_table5"]
    assert "kappa is 0.60" in text


def test_no_claim_stands_beside_an_interval_that_is_rounded_to_chance():
    gaps = answer("memorization", memorization_gaps=[gap(0.0208, 0.0004)]).headline
    pairs = answer("memorization", memorization_pairs=pair_rows(0.50032)).lines
    (kappa,) = answer("similarity", similarity_table5=[agreement(0.005, 0.0043, 0.0058)]).sentences

    assert "PRG +0.0208 [+0.0004, +0.1208]." in gaps
    assert pairs[0][2] == "0.8000 [0.5003, 0.8500]"
    assert "kappa is 0.005 [0.004, 0.006]: more than chance" in kappa.text
