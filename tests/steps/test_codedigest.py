import ast
import re
import sys
import textwrap
from pathlib import Path

import pytest
from examplepackage import register

from clipaudit.config.shipped import PACKAGE, workflow_folder
from clipaudit.config.worlds import glyph_settings, plant_settings
from clipaudit.errors import ConfigError
from clipaudit.steps import codedigest
from clipaudit.steps.codedigest import code_digest, code_parts, rule_sources

SETTINGS = re.compile(r"clipaudit\.(config(\.\w+)*|\w+\.settings)")  # left out of digests


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a stand-in for the package clipaudit, and a script that imports one of its modules."""
    root = tmp_path / "clipaudit"
    for room in ("similarity", "store"):
        (root / room).mkdir(parents=True)
    files = {
        "__init__.py": '"""A package."""\n',
        "similarity/__init__.py": '"""A room."""\n',
        "similarity/gap.py": "def prune(x):\n    import clipaudit.ties as t\n    t.first(x)\n",
        "ties.py": 'READS = ("rule.sql", "rule.h")\n\n'
        'def first(x):\n    """Doc."""\n    return x[0]\n',
        "rule.h": "int first();  // of equals\n",
        "rule.sql": "-- a grain\nselect 1\n",
        "store/store.py": "def put():\n    return 1\n",
        "store/parquet.py": "def write_table():\n    return 1\n",
        "similarity/settings.py": "X = 1\n",
        "unused.py": "X = 1\n",
    }
    for name, text in files.items():
        (root / name).write_text(text)
    script = tmp_path / "gap.py"
    script.write_text(
        "from clipaudit.similarity.gap import prune\nimport clipaudit.store.store\nprune(1)\n"
    )
    monkeypatch.setattr(codedigest, "PACKAGE", root)
    monkeypatch.setattr(codedigest, "MEMO", tmp_path / "memo.json")
    forget()
    yield root, script
    forget()


def forget():
    """Clear the caches, because a process reads each file only once."""
    for cached in (
        codedigest._read,
        codedigest._memo,
        codedigest._file_digest,
        codedigest._reachable,
        codedigest._plugged_package,
        codedigest._module_file,
    ):
        cached.cache_clear()


def digest(package):
    forget()
    return code_digest(package[1])


def covered(package):
    names = (name.partition(" ") for name in code_parts(package[1]))
    return sorted(name for kind, _, name in names if kind == "module")


def test_the_memo_gives_the_same_digest_as_the_walk(package, monkeypatch):
    walked = digest(package)
    codedigest._memo().save()
    monkeypatch.setattr(codedigest, "_walked", None)  # no file is walked again

    assert digest(package) == walked
    modules = ["clipaudit.similarity.gap", "clipaudit.store.parquet", "clipaudit.ties"]
    assert covered(package) == modules


def test_a_changed_file_is_walked_despite_the_memo(package):
    before = digest(package)
    codedigest._memo().save()

    (package[0] / "ties.py").write_text("def first(x):\n    return x[1]\n")

    assert digest(package) != before


def test_imports_are_followed_even_inside_functions(package):
    modules = ["clipaudit.similarity.gap", "clipaudit.store.parquet", "clipaudit.ties"]
    assert covered(package) == modules


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "ties.py",
            '# why\nREADS = ("rule.sql", "rule.h")\n\n\n'
            'def first(x):\n    """Other."""\n    return x[0]\n',
        ),
        ("rule.sql", "-- another grain\nselect\n    1\n"),
        ("rule.h", "// Ties.\nint first();\n"),
        ("store/store.py", "def put():\n    return 2\n"),
        ("unused.py", "X = 2\n"),
        ("__init__.py", '"""Another text."""\n'),
    ],
    ids=[
        "comment and docstring",
        "sql comment",
        "c++ comment",
        "plumbing",
        "not imported",
        "package docstring",
    ],
)
def test_a_change_that_cannot_affect_a_result_keeps_the_digest(package, file, text):
    before = digest(package)
    (package[0] / file).write_text(text)

    assert digest(package) == before


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("ties.py", 'READS = ("rule.sql", "rule.h")\n\ndef first(x):\n    return x[1]\n'),
        ("rule.sql", "select 2\n"),
        ("rule.h", "int last();\n"),
        ("similarity/gap.py", "def prune(x):\n    return x\n"),
        ("store/parquet.py", "def write_table():\n    return 2\n"),
    ],
    ids=["code", "declared file", "declared header", "import gone", "what writes all tables"],
)
def test_a_change_that_can_affect_a_result_changes_the_digest(package, file, text):
    before = digest(package)
    (package[0] / file).write_text(text)

    assert digest(package) != before


def test_the_serialisation_is_pinned():
    """A changed literal here means that every action of every store is computed again."""
    source = textwrap.dedent(
        '''
        """Doc."""
        import os
        @decorate
        async def f(a: int = 1, *, b=None, **c) -> str:
            """Doc."""
            return f"{a!r:>{b}}" + "x" if a is not None and -1 < b <= 2.5e3 else [*c, {1: (2,)}]
        class C(B): pass
        '''
    )
    parts = []
    codedigest._serialise(ast.parse(source), parts, [])
    text = "".join(parts)

    assert "Doc" not in text
    assert text.startswith("(Module body=[(Import names=[(alias name='os'),]),(AsyncFunctionDef")
    assert codedigest.hashlib.sha256(text.encode()).hexdigest()[:16] == "d6a98a24c56c053a"


def test_a_script_that_does_not_parse_is_named(tmp_path):
    script = tmp_path / "bad.py"
    script.write_text("def (")

    with pytest.raises(ConfigError, match=r"bad.py: cannot be read as Python code"):
        code_digest(script)


def entry_digests(package, text):
    forget()
    layouts = package[0] / "layouts.py"
    layouts.write_text(text)
    entries = [Path(f"{layouts}::{name}") for name in ("one", "two")]
    return [code_digest(package[1], [entry]) for entry in entries]


LAYOUTS = 'END = "."\nLAYOUTS: dict[str, str] = {"one": "a" + END, "two": "b"}\n'


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ('"a"', '"c"', [True, False]),
        ('"b"', '"c"', [False, True]),
        ('"."', '"!"', [True, True]),
        ('"two": "b"', '"two": "b", "three": "c"', [False, False]),
        ("END}", "END}  # of it", [False, False]),
    ],
)
def test_only_one_entry_of_a_dictionary_of_layouts_counts(package, old, new, changed):
    before = entry_digests(package, LAYOUTS)

    after = entry_digests(package, LAYOUTS.replace(old, new))

    assert [one != other for one, other in zip(before, after, strict=True)] == changed


def test_a_missing_entry_is_named(package):
    with pytest.raises(ConfigError, match=r"layouts.py: its dictionary LAYOUTS has no entry 'two'"):
        entry_digests(package, 'LAYOUTS: dict[str, str] = {"one": "a"}\n')


def test_imports_of_an_entry_count_with_it(package):
    layouts = package[0] / "layouts.py"
    layouts.write_text("import clipaudit.unused\n" + LAYOUTS)

    parts = code_parts(package[1], [Path(f"{layouts}::one")])

    assert {"module clipaudit.unused", "module clipaudit.layouts::one"} <= parts.keys()
    assert "module clipaudit.layouts" not in parts


def test_an_audits_settings_are_not_code_because_their_values_are_in_the_key(package):
    package[1].write_text("import clipaudit.similarity.settings\n" + package[1].read_text())
    before = digest(package)

    (package[0] / "similarity/settings.py").write_text("X = 2\n")

    assert digest(package) == before


def digested_modules():
    """Return the names of our modules that enter the code digest of some rule."""
    layouts = sorted(PACKAGE.glob("*/reports/layouts.py"))
    scripts = sorted(workflow_folder().glob("workflow_scripts/*.py"))
    parts = set().union(*(code_parts(script, layouts) for script in scripts))
    return sorted(part.removeprefix("module ") for part in parts if part.startswith("module "))


def constants_of_settings(name):
    """Return the constants that a module imports from modules of settings."""
    tree = ast.parse(codedigest._module_file(name).read_text())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    found = [node for node in nodes if SETTINGS.fullmatch(node.module or "")]
    return [
        f"{node.module}.{each.name}" for node in found for each in node.names if each.name.isupper()
    ]


def test_digested_modules_import_no_constants_from_modules_of_settings():
    names = digested_modules()

    found = {name: constants_of_settings(name) for name in names}

    assert {"clipaudit.copies.calibrating", "clipaudit.parrot.clusters"} <= set(names)
    assert {name: each for name, each in found.items() if each} == {}, "move them to fixed.py"


def test_shards_of_a_world_are_drawn_again_after_a_change_in_what_its_settings_choose():
    parts = code_parts(*rule_sources("generate_shard"))
    drawing = {name.removeprefix("module ") for name in parts}

    for kind in (plant_settings.Frames.chance, glyph_settings.GlyphCorpus.exclusive_plants):
        assert kind.__module__ in drawing


@pytest.fixture
def plugged(tmp_path, monkeypatch):
    """Return a function: the parts of the digest of a script in a freshly installed package."""
    monkeypatch.syspath_prepend(tmp_path)

    def parts(folder, **changed):
        files = {
            "__init__.py": "",
            "unused.py": "X = 1\n",
            "audit.py": "",
            "mean.py": "from .ties import first\nfrom clipaudit.corpora import parts\n",
            "ties.py": "def first(x):\n    return x[0]\n",
            "workflow_scripts/tinted_mean.py": "from tintedtools.mean import first\nimport os\n",
        }
        root = tmp_path / folder / "tintedtools"
        (root / "workflow_scripts").mkdir(parents=True)
        for name, text in files.items():
            (root / name).write_text(changed.get(Path(name).stem, text))
        points = {"clipaudit.audits": {"tinted": "tintedtools.audit:AUDIT"}}
        register(root.parent, name="tinted", version="3.1", **{"entry-points": points})
        monkeypatch.setattr("sys.path", [str(root.parent), *sys.path])
        forget()
        return code_parts(*rule_sources("tinted_mean", ["tintedtools/audit.py"]))

    yield parts
    forget()


def test_modules_and_version_of_a_plugins_audit_count(plugged):
    parts = plugged("here")

    assert {"script tinted_mean.py", "module tintedtools.mean", "module tintedtools.ties"} < set(
        parts
    )
    assert {"module tintedtools.audit", "module clipaudit.corpora.parts"} < set(parts)
    assert "module tintedtools.unused" not in parts
    assert parts["distribution tinted"] == "3.1"


def test_the_location_of_a_plugins_audit_does_not_matter(plugged):
    assert plugged("here") == plugged("there")
    assert plugged("elsewhere", ties="def first(x):\n    return x[1]\n") != plugged("afar")
