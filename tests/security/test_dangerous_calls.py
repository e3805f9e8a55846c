"""Calls that no code of the project may contain, found in its syntax trees."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from clipaudit.config.loading import _Loader

ROOT = Path(__file__).parents[2]
FOLDERS = ("clipaudit", "workflow_scripts", "snakemake_logger_plugin_clipaudit")
NEVER = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "tempfile.mktemp",
    "pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads",
    "shelve.open", "pd.read_pickle", "torch.jit.load", "torch.hub.load", "yaml.unsafe_load",
    "yaml.full_load", "yaml.load_all", "tarfile.open", "zipfile.ZipFile", "shutil.unpack_archive",
    "np.memmap",
}  # fmt: skip
NEVER_METHODS = {"extractall", "extract"}
MODULES = {"pickle", "marshal", "shelve", "joblib", "dill", "socket", "requests", "urllib.request"}
SAFE = {  # a call, and the argument with the value that makes it safe
    "torch.load": ("weights_only", True),
    "load_checkpoint": ("weights_only", True),
    "load_state_dict": ("weights_only", True),
    "AutoConfig.from_pretrained": ("trust_remote_code", False),
    "AutoImageProcessor.from_pretrained": ("trust_remote_code", False),
    "auto.from_pretrained": ("trust_remote_code", False),  # of any class of transformers
    "HFTokenizer": ("trust_remote_code", False),
}
EXCEPTIONS = {
    (
        "clipaudit/embeddings/embedding_files.py",
        "zipfile.ZipFile",
    ),  # reads a member's bytes; writes no file
    ("clipaudit/imports/mmc4.py", "zipfile.ZipFile"),  # the same, line by line
    ("clipaudit/config/loading.py", "yaml.load"),  # by a safe loader: see below
    ("clipaudit/corpora/plain_tars.py", "tarfile.open"),  # writes
    ("clipaudit/provenance/crate.py", "zipfile.ZipFile"),  # writes
}


@cache
def nodes():
    """Return every node of the project's code with its file."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return [
        (str(path.relative_to(ROOT)), node)
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
    ]


@cache
def calls():
    return [
        (path, ast.unparse(node.func), node) for path, node in nodes() if isinstance(node, ast.Call)
    ]


def test_no_call_executes_data_or_unpacks_archives_by_member_names():
    found = {
        (path, name)
        for path, name, _ in calls()
        if name in NEVER | {"yaml.load"} or name.rpartition(".")[2] in NEVER_METHODS
    }

    assert found - EXCEPTIONS == set()


def test_every_exception_is_needed():
    assert EXCEPTIONS <= {(path, name) for path, name, _ in calls()}


def test_settings_are_read_by_a_safe_loader():
    assert issubclass(_Loader, yaml.constructor.SafeConstructor)
    assert not issubclass(_Loader, yaml.constructor.FullConstructor)


def test_checkpoint_readers_are_called_with_code_execution_off():
    seen = set()
    for path, name, node in calls():
        if name in SAFE:
            argument, value = SAFE[name]
            given = {word.arg: getattr(word.value, "value", None) for word in node.keywords}
            assert given.get(argument) is value, f"{path}:{node.lineno}: {name} lacks {argument}"
            seen.add(name)

    assert seen == SAFE.keys()


def test_transformers_checkpoints_are_read_only_by_safe_calls():
    assert {name for _, name, _ in calls() if name.endswith(".from_pretrained")} <= SAFE.keys()


@pytest.mark.parametrize("word", ["shell", "allow_pickle"])
def test_no_call_has_an_argument_that_makes_it_dangerous(word):
    given = [(path, each) for path, _, node in calls() for each in node.keywords]

    said = [(path, ast.unparse(each.value)) for path, each in given if each.arg == word]

    assert {value for _, value in said} <= {"False"}, said


def test_pickle_is_imported_only_for_its_error_and_network_modules_never():
    imported, used = set(), set()
    for path, node in nodes():
        if isinstance(node, ast.Import):
            imported |= {(path, each.name) for each in node.names if each.name in MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            imported.add((path, node.module))
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pickle":
            used.add(node.attr)

    assert {name for _, name in imported} == {"pickle"}
    assert used == {"UnpicklingError"}


def test_no_rule_has_a_shell_command_or_inline_code():
    for path in [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk")]:
        assert not re.search(r"^ *(shell|run|notebook|wrapper):", path.read_text(), re.MULTILINE)
