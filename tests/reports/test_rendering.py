import csv
import io
import re

import pyarrow as pa
import pytest

from clipaudit.reports.rendering import layouts, to_csv, to_latex, to_markdown
from clipaudit.reports.tables import published_values, report_table
from clipaudit.similarity.reports.layouts import LAYOUTS

TITLES = {"val": "ImageNet-Val", "sketch": "ImageNet-Sketch"}


@pytest.fixture
def table1(view, trained_once):
    """Two rows on two test sets; only the pruned row misses `val`."""
    rows = [
        (0, "L-200M + IN-Train", "b32", "both", None, False, True),
        (1, "sketch-pruned", "b32", "cut", "both", True, True),
    ]
    predictions = [("b32", "both", "val", 0, row, row % 4) for row in range(100)]
    predictions += [("b32", "both", "sketch", 0, row, row % 2) for row in range(100)]
    predictions += [("b32", "cut", "sketch", 0, row, row % 5 % 2) for row in range(100)]
    kept = [("large", "all", 0, row, True) for row in range(2000)]
    kept += [("large", "cut", 0, row, row >= 1500) for row in range(2000)]
    views = {
        **trained_once(rows),
        "testsets": view("testsets", [(n, *pair) for n, pair in enumerate(TITLES.items())]),
        "predictions": view("predictions", predictions),
        "members": view("members", [("both", "large", "all"), ("cut", "large", "cut")]),
        "manifest_rows": view("manifest_rows", kept),
        "published": published_values("similarity_table1"),
    }
    return report_table("similarity_table1", views, {"over_seeds": False})


def markdown_cells(text):
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_markdown_has_the_layout_of_the_paper(table1):
    head, _, *lines = markdown_cells(to_markdown("similarity_table1", table1))

    assert head == ["Dataset", "Size", "ImageNet-Val", "ImageNet-Sketch"]
    assert lines == [
        ["L-200M + IN-Train", "2\u202f000", "25.00", "50.00"],
        ["*95 % interval*", "", "[16.9, 34.7]", "[39.8, 60.2]"],
        ["*in the paper*", "200\u202f966\u202f589", "68.66", "50.21"],
        ["\u2013 sketch-pruned", "\u22121\u202f500", "\u2013", "60.00"],
        ["*95 % interval*", "", "", "[49.7, 69.7]"],
        ["*in the paper*", "\u22128\u202f342\u202f783", "68.34", "44.78"],
        ["*relative change, %*", "", "", "+20.0"],
        ["*change, 95 % interval*", "", "", lines[7][3]],
        ["*change in the paper*", "", "\u22120.5", "\u221210.8"],
    ]
    assert re.fullmatch(r"\[.\d\d?\.\d, \+\d\d\.\d\]", lines[7][3])


def test_markdown_is_aligned_as_plain_text(table1):
    lines = to_markdown("similarity_table1", table1).splitlines()[2:]

    assert len({len(line) for line in lines}) == 1


def test_latex_has_the_layout_of_the_paper(table1):
    text = to_latex("similarity_table1", table1)

    assert (
        r"Dataset & Size & \shortstack{ImageNet-\\Val} & \shortstack{ImageNet-\\Sketch} \\" in text
    )
    assert r"{L-200M + IN-Train} & {2\,000} & {25.00} & {50.00} \\" in text
    assert r"{-- sketch-pruned} & {$-$1\,500} & {--} & {60.00} \\" in text
    assert r"{\scriptsize \quad in the paper} & {\scriptsize $-$8\,342\,783}" in text
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}{lrrr}"):
        assert text.count(rule) == 1


@pytest.mark.parametrize("name", LAYOUTS)
def test_latex_is_ascii_and_its_braces_balance(name):
    text = to_latex(name, any_table())

    assert text.isascii()
    plain = re.sub(r"\\[\\{}]", "", text)
    assert plain.count("{") == plain.count("}")
    rows = [line for line in text.splitlines() if line.endswith(r"} \\") and "&" in line]
    assert len({re.sub(r"\\&", "", row).count("&") for row in rows}) == 1


def any_table(titles=("Small", "Large")):
    """Two rows and two columns, with every column that some layout prints."""
    numbers = {"images": 2000, "near_duplicates": 10, "near_gap": 1234, "nearer": 10, "ties": 3}
    numbers |= {"share": 0.005, "share_low": 0.002, "share_high": 0.009, "not_normalized": 0}
    numbers |= {"value": 0.5, "value_low": 0.25, "value_high": 0.75, "correlation": -0.5}
    numbers |= {"size": 3000, "removed": 1500, "accuracy": 0.5, "relative_change": -0.1}
    numbers |= {"accuracy_low": 0.4, "accuracy_high": 0.6, "relative_change_low": None}
    numbers |= {"relative_change_high": None, "in_grid": False, "indent": True}
    numbers |= {"is_reference": False, "points": 2, "points_left_out": 1, "slope": 1.5}
    numbers |= {"expected_accuracy": 0.4, "effective_robustness": 0.1, "threshold": 0.876}
    numbers |= {"effective_robustness_low": -0.1, "effective_robustness_high": 0.3}
    numbers |= {"is_chosen": True, "samples": 4000, "kept": 3000, "removed_share": 0.25}
    numbers |= {"below": 5, "above": 0, "without_neighbor": 1, "distance": 0.05, "note": None}
    numbers |= {"encoder_title": "B/16", "dimension": 512, "random_mean": 0.5, "random_q50": 0.5}
    numbers |= {"nearest_mean": 0.75, "same_class_mean": None, "effective_rank": 99.5}
    numbers |= {"collapsed": True, "by_both": 3, "by_first_alone": 2, "by_other_alone": 1}
    numbers |= {"by_neither": 94, "both_by_chance": 0.2, "jaccard": 0.5, "jaccard_low": 0.1}
    numbers |= {"jaccard_high": 0.9, "kappa": 0.6, "kappa_low": None, "kappa_high": None}
    published = {"images": 50_000, "near_duplicates": None, "near_gap": 131_087, "share": 0.9794}
    published |= {"size": 1, "removed": None, "accuracy": 0.4478, "relative_change": None}
    published |= {"expected_accuracy": 0.14, "correlation": 0.87}
    published = {f"published_{key}": value for key, value in published.items()}
    cells = [
        {"position": position, "testset_title": testset, "dataset": testset, "search": testset}
        | {f"{column}_title": title for column in ("corpus", "measure", "encoders")}
        | dict.fromkeys(("testset", "corpus", "measure", "encoders"), key)
        for position, testset in enumerate(TITLES.values())
        for key, title in zip(("small", "large"), titles, strict=True)
    ]
    return pa.Table.from_pylist([{**cell, **numbers, **published} for cell in cells])


@pytest.mark.parametrize("write", [to_markdown, to_latex])
def test_a_file_caption_starts_with_its_content_and_the_papers_number(write):
    text = write("similarity_table6", any_table())

    assert "Training samples near the similarity gap (the paper's Table 6). " in text


def test_empty_lines_are_omitted():
    names = [row[0] for row in markdown_cells(to_markdown("similarity_table6", any_table()))]

    assert names[2:4] == ["\u2013 ImageNet-Val", "*in the paper*"]
    assert names[4:] == ["\u2013 ImageNet-Sketch", "*in the paper*"]


def test_shares_are_printed_with_their_intervals():
    head, _, *lines = markdown_cells(to_markdown("similarity_table2", any_table()))

    nearer = "(nearer than 0.05)"
    assert head == ["Test set", "Images", f"Small {nearer}", f"Large {nearer}"]
    assert lines[1] == ["*share, % (95 % interval)*", "", *["0.50 [0.20, 0.90]"] * 2]
    assert lines[2][1] == "50\u202f000"


def test_uncounted_values_state_the_reason():
    rows = [{**row, "near_duplicates": None, "share": None} for row in any_table().to_pylist()]
    noted = pa.Table.from_pylist([{**row, "note": "no threshold"} for row in rows])

    _, _, first, *_ = markdown_cells(to_markdown("similarity_table2", noted))

    assert first[0].endswith(", no threshold")
    assert first[2:] == ["\N{EN DASH}"] * 2


def test_a_row_without_a_model_says_so(table1):
    place = table1.column_names.index("in_grid")
    lacking = table1.set_column(place, "in_grid", pa.array([False] * len(table1)))

    names = [row[0] for row in markdown_cells(to_markdown("similarity_table1", lacking))]

    assert names[2] == "L-200M + IN-Train, not trained"


def test_a_listing_prints_one_line_per_row():
    head, _, *lines = markdown_cells(to_markdown("similarity_deduplication", any_table()))

    assert head == ["Threshold", "Samples", "Kept", "Removed", "Removed, %"]
    assert lines == [["0.876, chosen", "4\u202f000", "3\u202f000", "1\u202f500", "25.00"]] * 4


def test_latex_separates_only_rows_of_several_lines():
    assert r"\addlinespace" in to_latex("similarity_table7", any_table())
    assert r"\addlinespace" not in to_latex("similarity_deduplication", any_table())


def test_equal_titles_do_not_merge_columns():
    head, *_ = markdown_cells(to_markdown("similarity_table7", any_table(("X", "X"))))

    assert head[2:] == ["X", "X"]


def test_a_table_without_rows_has_only_its_header():
    empty = any_table().slice(0, 0)

    assert to_markdown("similarity_table7", empty).count("\n|") == 2
    assert r"\bottomrule" in to_latex("similarity_table7", empty)
    assert to_csv(empty).count("\r\n") == 1


HOSTILE = r"a|b_c_ <script> 50% & \input{x} $x^2$ #~ [l](u) *" + "\nnext"


def test_hostile_titles_stay_text_in_markdown():
    text = to_markdown("similarity_table7", any_table(("S", HOSTILE)))

    head = next(line for line in text.splitlines() if line.startswith("| Test set"))
    assert r"a\|b_c\_ \<script> 50% \& \\input{x} \$x^2\$ #\~ \[l\](u) \* next" in head
    assert head.count("|") - head.count(r"\|") == 5


def test_hostile_cells_stay_text_in_markdown():
    rows = [row | {"testset_title": HOSTILE} for row in any_table().to_pylist()]

    text = to_markdown("similarity_encoders", pa.Table.from_pylist(rows))
    head, _, line, *_ = text.splitlines()[2:]

    assert r"a\|b_c\_ \<script> 50% \& \\input{x} \$x^2\$ #\~ \[l\](u) \* next" in line
    assert line.count("|") - line.count(r"\|") == head.count("|")


def test_hostile_titles_stay_text_in_latex():
    text = to_latex("similarity_table7", any_table(("S", HOSTILE)))

    assert r"\input{" not in text
    assert r"\textbackslash{}input\{x\}" in text
    assert r"50\%" in text
    assert r"\$x\textasciicircum{}2\$" in text


SIGNS = "CoTR ≥ 0.2 ≤ 3 × 4 ± 1 − 2 – 5 — 90° ρ S(·) “x” ‘y’ a…\u202f1\u00a0b"  # noqa: RUF001


def test_latex_is_ascii_for_all_signs_of_our_titles():
    text = to_latex("similarity_table7", any_table(("S", SIGNS)))

    assert text.isascii()
    assert r"CoTR\\$\geq$\\0.2" in text


@pytest.mark.parametrize("audit", ["copies", "similarity", "memorization", "parrot"])
def test_all_captions_are_ascii_in_latex(audit):
    for name in layouts(f"{audit}_table"):
        assert to_latex(name, pa.table({})).isascii(), name


def test_csv_survives_a_round_trip(table1):
    rows = list(csv.reader(io.StringIO(to_csv(table1), newline=""), strict=True))

    assert rows[0] == table1.column_names
    assert len(rows) == 1 + len(table1)
    accuracies = [float(row[rows[0].index("accuracy")] or "nan") for row in rows[1:]]
    assert accuracies[:2] + accuracies[3:] == [0.25, 0.5, 0.6]
    assert [row[rows[0].index("indent")] for row in rows[1:]] == ["false"] * 2 + ["true"] * 2


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1"])
def test_no_csv_text_runs_as_a_formula(text):
    written = to_csv(pa.table({"title": [text], "change": [-0.25], "count": [-3]}))

    (row,) = list(csv.reader(io.StringIO(written, newline="")))[1:]
    assert row == [f"'{text}", "-0.25", "-3"]
