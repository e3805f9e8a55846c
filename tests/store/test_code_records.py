from clipaudit.steps.codedigest import code_digest, code_parts, rule_sources
from clipaudit.store.code_records import CodeRecord, read_code, write_code
from clipaudit.store.store import Store

SCRIPT, _ = rule_sources("gap")


def test_a_code_digest_can_be_resolved_into_its_parts_later(tmp_path):
    store, digest = Store(tmp_path), code_digest(SCRIPT)
    record = CodeRecord(code_parts(SCRIPT), {"table.sql": "select 1"})

    write_code(store, digest, record)

    assert read_code(store, digest) == record
    assert {"script gap.py", "module clipaudit.similarity.gap"} <= record.parts.keys()


def test_the_parts_of_a_digest_never_change(tmp_path):
    store = Store(tmp_path)

    write_code(store, "ab12", CodeRecord({"script x.py": "1"}, {}))
    write_code(store, "ab12", CodeRecord({"script x.py": "2"}, {}))

    assert read_code(store, "ab12") == CodeRecord({"script x.py": "1"}, {})


def test_a_truncated_record_is_unknown_and_written_again(tmp_path):
    store, record = Store(tmp_path), CodeRecord({"script train": "ab"}, {})
    write_code(store, "c0de", record)
    (file,) = (tmp_path / "lineage/code").rglob("*.json")
    file.write_text("")

    assert read_code(store, "c0de") is None
    write_code(store, "c0de", record)
    assert read_code(store, "c0de") == record


def test_a_digest_that_no_step_recorded_is_unknown(tmp_path):
    assert read_code(Store(tmp_path), "ab12") is None
