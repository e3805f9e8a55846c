import pytest

from clipaudit.lineage.why.tree_text import Shown, why_mermaid, why_text

TABLE = {"path": "results/tables/t.json", "digest": "ab" * 32, "rows": 1, "action": "t" * 64}


def node(step, inputs=(), **settings):
    return {
        "step": step, "labels": {"part": "0"}, "code": "c" * 64, "settings": settings,
        "environment": {"torch": "2.15.0"}, "seconds": 1.5, "host": "vm", "owner": "ada",
        "started": "2026-01-01T00:00:00.000", "inputs": {
            name: {"files": 1, "of_files": 2} for name in inputs
        },
    }  # fmt: skip


def edge(to, name, path, maker=None, more=None):
    return {
        "to": to, "input": name, "from": maker, "path": path, "digest": "d" * 64, "labels": {},
        "more": more,
    }  # fmt: skip


def answered(actions, edges, **more):
    return {
        "table": TABLE, "where": None, "column": None, "meaning": None, "rows": [], "count": 0,
        "sql": None,
        "parts": None, "verified": None, "notes": [], "actions": actions, "edges": edges,
        "code": {}, **more,
    }  # fmt: skip


@pytest.fixture
def answer():
    """Return a table of two files of one step, each made from shards."""
    key, first, second = "t" * 64, "1" * 64, "2" * 64
    shared = {"model": "x", "seed": 0, "size": 1}
    actions = {
        key: node("report", ["left", "right"]),
        first: node("embed", ["tars"], **shared, shards=[0]),
        second: node("embed", ["tars"], **shared, shards=[1]),
    }
    edges = [
        edge(key, "left", "results/a.json", first),
        edge(key, "right", "results/b.json", second, {"files": 1290, "last": "results/z.json"}),
        edge(first, "tars", "data/0.tar", None, {"files": 3, "last": "data/3.tar"}),
        edge(second, "tars", "data/4.tar"),
    ]
    return answered(actions, edges)


def lines(answer, width=100, **options):
    return list(why_text(answer, width, Shown(**options)))


ALL = {"settings": True, "depth": None, "every": True}


def test_a_file_is_above_its_maker_and_the_makers_inputs(answer):
    text = "\n".join(lines(answer, **ALL))

    assert "results/tables/t.json  abababababab\n| report  action tttttttttttt  code cccc" in text
    assert "| left: 1 of 2 files\n  results/a.json  dddddddddddd\n  | embed  action 1111" in text
    assert "  | tars: 1 of 2 files\n    data/0.tar  dddd" in text


def test_folded_files_are_counted(answer):
    assert "  ... and 1,290 more of embed, to results/z.json" in lines(answer)
    assert "    ... and 3 more, to data/3.tar" in lines(answer, depth=3)


def test_inputs_at_the_last_level_are_only_counted(answer):
    text = lines(answer)

    assert "  | tars: 1 of 2 files" in text
    assert not any("data/0.tar" in line for line in text)
    assert text[-1] == "More: --settings, --all"


def test_the_depth_of_the_tree_is_reported(answer):
    answer["actions"]["3" * 64] = node("draw")
    answer["edges"].append(edge("1" * 64, "tars", "data/5.tar", "3" * 64))

    assert lines(answer)[-1] == "More: --depth 3 (down to the shards), --settings, --all"
    assert any("| draw  action" in line for line in lines(answer, depth=3))


def test_the_first_of_many_files_of_an_input_are_shown(answer):
    for number in range(5):
        answer["edges"].append(edge("t" * 64, "left", f"results/{number}.json"))

    assert "  ... and 4 like these: --all" in lines(answer)
    assert any("results/4.json" in line for line in lines(answer, **ALL))


def test_a_step_shown_before_shows_only_differences(answer):
    text = lines(answer, **ALL)

    second = text.index("  | all as action 111111111111, but")
    assert text[second + 1] == "  | shards = [1]"
    assert text.count("  | model = x") == 1


def test_an_action_is_shown_once(answer):
    answer["edges"].append(edge("t" * 64, "right", "results/c.json", "1" * 64))

    assert "  results/c.json  dddddddddddd  (see above)" in lines(answer)


def test_cells_parts_and_notes_are_above_the_tree(answer):
    part = {"files": 1, "of_files": 3, "rows": 1200, "of_rows": None, "by": ["corpus: a"]}
    unused = {**part, "rows": 0, "sample": []}
    row = {"corpus": "a", "mean": 0.1234567, "mean_low": 0.1, "mean_high": 0.2, "empty": None}
    answer |= {
        "column": "mean", "rows": [row], "count": 1, "meaning": "mean of all scores",
        "parts": {"scores": {**part, "sample": [{"score": 0.5}]}, "others": unused},
        "notes": ["A note."],
    }  # fmt: skip

    assert lines(answer)[:12] == [
        "mean = 0.1234567 [0.1, 0.2]",
        "  mean of all scores",
        "corpus=a  mean=0.1235  mean_low=0.1  mean_high=0.2",
        "",
        "Recomputing from these rows alone gives the same:",
        "  scores: 1,200 rows, 1 of 3 files",
        "    corpus: a",
        "    score=0.5",
        "    ... and 1,199 more",
        "  no row of: others",
        "A note.",
        "",
    ]
    assert lines(answer)[-1].startswith("More: --rows 1200 (all rows used)")


def test_the_unit_in_a_row_follows_the_value(answer):
    answer |= {"column": "value", "rows": [{"value": 0.5, "unit": "share"}], "count": 1}

    assert lines(answer)[0] == "value = 0.5 (share)"


def test_a_command_for_the_first_sample_is_shown_if_rows_are_samples(answer):
    sample = {"corpus": "large", "shard": 4, "row": 7}
    part = {"files": 1, "of_files": 1, "rows": 1, "of_rows": 1, "by": [], "sample": [sample]}
    answer["parts"] = {"neighbors": part}

    assert lines(answer)[-1] == "Show the first: clipaudit sample large 4:7"
    named = lines(answer, options=" --results r")[-1]
    assert named == "Show the first: clipaudit sample large 4:7 --results r"


def test_the_first_of_many_rows_are_shown(answer):
    answer |= {"rows": [{"mean": number} for number in range(9)], "count": 30}

    assert lines(answer)[3] == "... and 27 more rows: choose some with --where"
    assert lines(answer, **ALL)[9] == "... and 21 more rows: choose some with --where"


def test_the_sql_is_shown_below_the_tree_if_requested(answer):
    answer["sql"] = {"name": "t", "text": "select 1\n", "origin": "recorded when it ran"}

    assert lines(answer, sql=True)[-4:-1] == ["t.sql (recorded when it ran):", "  select 1", ""]
    assert "  select 1" not in lines(answer)
    assert "--sql" in lines(answer)[-1]


def test_modules_are_shown_where_they_are_known(answer):
    answer["code"] = {"c" * 64: {"module clipaudit.x": "e" * 64}}

    assert "| of module clipaudit.x eeeeeeeeeeee" in lines(answer)


def test_settings_are_cut_at_the_width_but_paths_are_not(answer):
    answer["actions"]["t" * 64]["settings"] = {"caption": "x" * 200}
    answer["edges"][0]["path"] = "results/" + "y" * 200

    text = lines(answer, width=60, settings=True)

    assert f"| caption = {'x' * 45}..." in text
    assert any("y" * 200 in line for line in text)


def test_no_text_injects_terminal_escapes(answer):
    evil = "\x1b[31m\n\u202e"
    answer["rows"], answer["count"], answer["column"] = [{evil: evil}], 1, evil
    answer["sql"] = {"name": "t", "text": "-- \x1b[31m\nselect 1", "origin": "x"}
    answer["notes"] = [evil]
    answer["actions"]["1" * 64]["settings"] = {evil: [evil]}
    answer["edges"][0]["path"] = evil

    text = "".join(lines(answer, sql=True, **ALL))

    assert not {"\x1b", "\n", "\u202e"} & set(text)


def test_a_chart_has_a_box_for_each_action_and_file(answer):
    chart = list(why_mermaid(answer))

    assert chart[0] == "flowchart LR"
    assert '  a0["report<br/>part 0<br/>action tttttttttttt<br/>code cccccccccccc"]' in chart
    assert '  f0[("data/0.tar<br/>dddddddddddd<br/>and 3 more, to data/3.tar")]' in chart
    assert '  f0 -->|"tars"| a1' in chart
    assert '  a1 -->|"left<br/>results/a.json"| a0' in chart
    assert "  a0 --> t" in chart


def test_a_file_read_by_two_actions_is_one_box(answer):
    answer["edges"].append(edge("2" * 64, "tars", "data/0.tar"))

    chart = list(why_mermaid(answer))

    assert sum('[("data/0.tar' in line for line in chart) == 1
    assert '  f0 -->|"tars"| a2' in chart


@pytest.mark.parametrize("evil", ['"]', "|", "end\n%%{init}%%", "<script>", "`x`", "#quot;"])
def test_no_label_escapes_its_box(answer, evil):
    answer["actions"]["t" * 64]["labels"] = {"name": evil}

    box = list(why_mermaid(answer))[1]

    inside = box.removeprefix('  a0["').removesuffix('"]').replace("<br/>", "")
    assert not set('"<>|`[]{}\n%') & set(inside)
    assert "#quot" not in inside
