import json

import pytest
from catalogcases import make_catalog, sample

from clipaudit.catalog.samples.catalog import Address
from clipaudit.catalog.samples.fate import sample_fate
from clipaudit.catalog.samples.page import sample_page
from clipaudit.catalog.samples.sections import fate_lines, sentences, shown_beside
from clipaudit.catalog.views import open_catalog
from clipaudit.copies.hashing import THUMBNAIL_BYTES
from clipaudit.errors import InputError

ROWS = [sample(0, 0), sample(0, 1), sample(1, 0)]
SAMPLES = ("samples", {"corpus": "large", "part": "00000"}, ROWS)
OWN = {"corpus": "large", "encoder": "own"}
DROP = {"shard": 0, "row": 7, "key": "000007", "stage": "index", "reason": "no image"}
NEAR = {"shard": 0, "row": 0, "testset": "val", "similarity": 0.75, "test_row": 3}
CROSSED = {"gap_similarity": 0.75, "gap": 0.5, "gap_test_shard": 0, "gap_test_row": 3}


@pytest.fixture
def fate_of(tmp_path):
    """Return a function: the fate of a sample of `large` in a catalog with these files."""

    def fate(name, *files, corpus="large"):
        with open_catalog(make_catalog(tmp_path, SAMPLES, *files)) as connection:
            return sample_fate(connection, corpus, name)

    return fate


@pytest.mark.parametrize("name", [ROWS[1]["uid"], ROWS[1]["uid"].upper(), "000001", "0:1"])
def test_a_sample_has_several_names(fate_of, name):
    assert fate_of(name)["sample"]["row"] == 1


def test_six_digits_of_a_uid_identify_a_sample(fate_of):
    assert fate_of(ROWS[2]["uid"][:6])["sample"]["shard"] == 1


def test_a_key_of_several_samples_lists_them(fate_of):
    with pytest.raises(InputError, match=r"(?s)several samples are called '000000'.*0:0.*1:0"):
        fate_of("000000")


@pytest.mark.parametrize(("uids", "by"), [("ab", "uid or SHARD:ROW"), ("aa", "SHARD:ROW")])
def test_samples_with_equal_uids_are_not_to_be_chosen_by_uid(tmp_path, uids, by):
    rows = [sample(0, row, key="one", uid=uid) for row, uid in enumerate(uids)]
    catalog = make_catalog(tmp_path, ("samples", {"corpus": "large"}, rows))

    with open_catalog(catalog) as connection, pytest.raises(InputError, match=f"one by {by}:"):
        sample_fate(connection, "large", "one")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("000003", r"large: no sample '000003'\. Did you mean 000001 or 000000\?"),
        ("0:9", r"large: no sample '0:9'\. Rows of its shard 0 are 0 to \d+\."),
        ("", r"large: no sample ''"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(fate_of, name, message):
    with pytest.raises(InputError, match=message):
        fate_of(name)


@pytest.mark.parametrize(
    ("corpus", "name", "message"),
    [
        ("large", "0:9", r"Rows of its shard 0 are 0 to 7\."),
        ("large", "4:0", r"Its shards are 0 to 3\."),
        ("gone", "1:0", r"Its shards are 0 to 0\."),
    ],
)
def test_the_ends_of_a_corpus_count_samples_that_the_index_dropped(fate_of, corpus, name, message):
    large = ("drops_index", {"corpus": "large"}, [DROP, {**DROP, "shard": 3}])

    with pytest.raises(InputError, match=message):
        fate_of(name, large, ("drops_index", {"corpus": "gone"}, [DROP]), corpus=corpus)


def test_an_unknown_corpus_is_answered_with_the_nearest(fate_of):
    with pytest.raises(InputError, match=r"no corpus 'larg' .* Did you mean large\?"):
        fate_of("0:0", corpus="larg")


def test_audits_that_did_not_run_leave_their_parts_empty(fate_of):
    fate = fate_of("0:0")

    assert fate["manifests"] == fate["nearest_tests"] == fate["scores"] == []
    assert fate["text"] is None
    assert sentences(fate) == ["No audit looked at this sample."]


def test_an_image_without_a_copy_was_looked_at(fate_of):
    images = [{"quality": 90, "thumbnail": bytes(THUMBNAIL_BYTES)}]
    fate = fate_of("0:0", ("images", {"corpus": "large"}, images))

    assert sentences(fate) == ["The copies audit found no copy of it."]


def test_a_fate_can_be_written_as_json(fate_of):
    fate = fate_of("0:0", ("similarities", OWN, [{**NEAR, **CROSSED}]))

    assert json.loads(json.dumps(fate, allow_nan=False)) == fate


def test_a_crossed_gap_is_reported_with_its_excess(fate_of):
    (near,) = fate_of("0:0", ("similarities", OWN, [{**NEAR, **CROSSED}]))["nearest_tests"]

    assert near["crossed"] == {
        "test_shard": 0, "test_row": 3, "similarity": 0.75, "gap": 0.5, "excess": 0.25,
    }  # fmt: skip


def test_a_single_manifest_is_in_the_singular(fate_of):
    row = {"shard": 0, "row": 0, "kept": True}
    fate = fate_of("0:0", ("manifests", {"corpus": "large", "pruning": "near"}, [row]))

    assert sentences(fate) == ["Kept by 1 of 1 manifest."]


def test_a_sample_that_the_index_dropped_is_found_by_its_key(fate_of):
    fate = fate_of("000007", ("drops_index", {"corpus": "large"}, [DROP]))

    assert fate["sample"]["row"] == 7
    assert sentences(fate) == ["Dropped by index: no image."]


def test_a_duplicate_names_both_directions(fate_of):
    rows = [
        {"cluster": 4, "shard": 0, "row": 0, "similarity": 0.75,
         "duplicate_shard": 0, "duplicate_row": 1},
        {"cluster": 4, "shard": 0, "row": 1},
        {"cluster": 4, "shard": 1, "row": 0, "similarity": 0.5,
         "duplicate_shard": 0, "duplicate_row": 0},
    ]  # fmt: skip

    (found,) = fate_of("0:0", ("duplicates", OWN, rows))["duplicates"]

    assert found["repeats_sample"]["uid"] == ROWS[1]["uid"]
    assert found["repeated_by"] == [{"shard": 1, "row": 0, "similarity": 0.5}]


def test_a_sample_is_nearest_in_its_cluster_whether_or_not_it_is_a_duplicate(fate_of):
    row = {"cluster": 4, "shard": 0, "row": 0, "similarity": 0.75,
           "duplicate_shard": 0, "duplicate_row": 1}  # fmt: skip

    lines = list(fate_lines(fate_of("0:0", ("duplicates", OWN, [row]))))

    head = lines[lines.index("Nearest in its cluster") + 1]
    assert head.split("  ")[-2:] == ["nearest", "nearest of"]
    assert "duplicate" not in " ".join(lines)


def test_a_manifest_that_removes_a_sample_gives_the_reason(fate_of):
    row = {**NEAR, **CROSSED, "kept": False, "reason": "nearer than the gap", "test_shard": 0}
    row = {name: row[name] for name in row if not name.startswith("gap_")}

    fate = fate_of("0:0", ("manifests", {"corpus": "large", "pruning": "val-pruned"}, [row]))

    (line,) = [line for line in fate_lines(fate) if "val-pruned" in line]
    assert line.split(None, 3)[3] == "nearer than the gap: val 0:3 at 0.7500, its gap 0.5000"


def test_a_copy_found_without_a_similarity_names_the_test_image_alone(fate_of):
    row = {**NEAR, "similarity": None, "kept": False, "reason": "copy", "test_shard": 0}

    fate = fate_of("0:0", ("manifests", {"corpus": "large", "pruning": "without-copies"}, [row]))

    (line,) = [line for line in fate_lines(fate) if "without-copies" in line]
    assert line.split(None, 3)[3] == "copy: val 0:3"


def recalled(encoder, correct, corpus="large"):
    """Return the recall of the four objects of sample 0:0 by an encoder."""
    row = {"shard": 0, "row": 0, "k": 2, "truths": 4, "correct": correct}
    return ("recalls", {"source": corpus, "encoder": encoder, "public": "p"}, [row])


def drawn_for(name):
    return ("members", {"source": "large"}, [{"shard": 0, "row": 0, "set": name}])


def in_set(name, kept=True, corpus="large"):
    row = {"shard": 0, "row": 0, "kept": kept}
    return ("manifests", {"corpus": corpus, "set": name}, [row])


def test_a_record_of_neither_set_has_recalls_and_no_gap(fate_of):
    recalls = recalled("base.set-a", 1), recalled("base.set-b", 2)

    memory = fate_of("0:0", drawn_for("holdout"), *recalls)["memorization"]

    assert memory["set"] == "holdout"
    assert memory["recalls"] == [
        {"recipe": "base", "size": None, "cut": 0, "epochs": None, "public": "p", "k": 2,
         "objects": 4, "recall_a": 0.25, "recall_b": 0.5, "gap": None}
    ]  # fmt: skip


def test_the_gap_under_a_further_seed_is_that_of_its_own_cut(fate_of):
    recalls = [
        recalled(f"base{seed}.set-{name}{cut}", correct)
        for seed, cut in (("", ""), (".seed-1", "-cut-1"))
        for name, correct in (("a", 1), ("b", 4))
    ]
    sets = in_set("set-a-cut-1", kept=False), in_set("set-b-cut-1")

    memory = fate_of("0:0", drawn_for("a"), *sets, *recalls)["memorization"]

    found = [(row["recipe"], row["cut"], row["gap"]) for row in memory["recalls"]]
    assert found == [("base", 0, -0.75), ("base.seed-1", 1, 0.75)]


def test_a_record_whose_set_in_a_cut_is_unknown_has_no_gap_there(fate_of):
    recalls = recalled("base.set-a-cut-1", 1), recalled("base.set-b-cut-1", 2)

    (row,) = fate_of("0:0", drawn_for("a"), *recalls)["memorization"]["recalls"]

    assert (row["cut"], row["gap"]) == (1, None)


def test_each_size_and_checkpoint_has_its_own_recalls(fate_of):
    recalls = [
        recalled(f"base.set-{name}{more}", correct)
        for more in ("", "-1000000", ".epoch-8")
        for name, correct in (("a", 2), ("b", 1))
    ]

    memory = fate_of("0:0", drawn_for("a"), *recalls)["memorization"]

    found = [(row["size"], row["epochs"], row["gap"]) for row in memory["recalls"]]
    assert found == [(None, None, 0.25), (None, 8, 0.25), ("1000000", None, 0.25)]


def test_a_source_without_sizes_gives_models_of_a_size_its_only_sets(fate_of):
    recalls = [recalled(f"base.set-{name}-9-cut-1", 1 + (name == "b")) for name in "ab"]
    sets = in_set("set-b-cut-1"), in_set("set-b-9-cut-1", corpus="other")

    (row,) = fate_of("0:0", drawn_for("a"), *sets, *recalls)["memorization"]["recalls"]

    assert row["gap"] == 0.25


def test_encoders_that_the_audit_did_not_train_have_recalls_of_their_own(fate_of):
    fate = fate_of("0:0", drawn_for("a"), recalled("first", 1), recalled("second", 2))

    assert fate["memorization"]["recalls"] == []
    assert [(row["encoder"], row["recall"]) for row in fate["memorization"]["other_recalls"]] == [
        ("first", 0.25), ("second", 0.5),
    ]  # fmt: skip
    assert "Recall of other encoders" in list(fate_lines(fate))


def test_hostile_captions_stay_on_their_line(tmp_path):
    hostile = ("samples", {"corpus": "large"}, [sample(0, 0, caption="a\x1b[2J\nuid  evil")])

    with open_catalog(make_catalog(tmp_path, hostile)) as connection:
        lines = list(fate_lines(sample_fate(connection, "large", "0:0")))

    assert r"caption   a\x1b[2J\nuid  evil" in lines


def test_text_read_but_not_counted_is_listed_separately(tmp_path):
    sale, glyph = (
        {"text": text, "score": score, "polygon": [0.0, 0.0, 8.0, 0.0, 8.0, 4.0], "words": None}
        for text, score in (("SALE", 0.95), ("O", 0.6))
    )
    views = {"samples": sample(0, 0)}
    views |= {
        view: {"shard": 0, "row": 0, "spans": spans}
        for view, spans in {"readings": [sale, glyph], "spans": [sale]}.items()
    }
    files = [(view, {"corpus": "web"}, [row]) for view, row in views.items()]
    with open_catalog(make_catalog(tmp_path, *files)) as connection:
        fate = sample_fate(connection, "web", "0:0")

    assert [span["text"] for span in fate["text"]["spans"]] == ["SALE"]
    assert [span["text"] for span in fate["text"]["not_counted"]] == ["O"]
    assert "Read, but not counted as text" in sample_page(fate, None)


def test_the_test_image_whose_gap_is_crossed_is_shown_before_the_nearest_other_one(fate_of):
    crossed = {**NEAR, **CROSSED, "gap_test_row": 4}

    beside = shown_beside(fate_of("0:0", ("similarities", OWN, [crossed])))

    assert [each.address for each in beside] == [Address("val", 0, 4), Address("val", 0, 3)]
    assert beside[0].words == "val 0:4: similarity 0.7500, above the gap 0.5000"


def test_a_gap_crossed_by_two_encoders_is_named_once_with_the_encoder_of_the_excess(fate_of):
    supervised = {"corpus": "large", "encoder": "supervised"}
    nearer = {**NEAR, **CROSSED, "gap": 0.25}
    fate = fate_of(
        "0:0",
        ("similarities", OWN, [{**NEAR, **CROSSED}]),
        ("similarities", supervised, [nearer]),
    )

    assert "Crosses the gap of val; that of val by 0.5000 (supervised)." in sentences(fate)
    assert "similarity 0.7500 (supervised), above the gap" in shown_beside(fate)[0].words


def test_a_test_image_is_shown_only_once(fate_of):
    (beside,) = shown_beside(fate_of("0:0", ("similarities", OWN, [{**NEAR, **CROSSED}])))

    assert beside.address == Address("val", 0, 3)
