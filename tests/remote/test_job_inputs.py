import hashlib

import pytest

from clipaudit.corpora.shardlist import SHARDS, list_shards
from clipaudit.errors import InputError
from clipaudit.remote.stubs import read_stub
from clipaudit.steps.inputs import InputFiles
from clipaudit.store.actions import ActionInput, Ingredients
from clipaudit.store.parquet import write_tables
from clipaudit.store.store import replace_text

CONTENTS = [b"zero", b"one"]


@pytest.fixture
def urls(served):
    served.files = {f"/{number}.tar": content for number, content in enumerate(CONTENTS)}
    return [f"{served.url}/{number}.tar" for number in range(2)]


@pytest.fixture
def inputs(store, tmp_path):
    return InputFiles(store, tmp_path / "results")


@pytest.fixture
def table(store, tmp_path):
    """Return the pointer of the table that an index writes."""
    digests = [hashlib.sha256(content).hexdigest() for content in CONTENTS]
    rows = list_shards([0, 1], digests, {0: 3, 1: 4})
    pointer = store.put(lambda path: write_tables([rows], SHARDS, path), schema="shards")
    path = tmp_path / "results/shards/web/00000.json"
    replace_text(path, pointer.to_json())
    return str(path)


def key(tars):
    return Ingredients("index", "code", {}, {"tars": tars}, {}).key()


def test_remote_tars_give_the_same_key_as_local_ones(inputs, urls, tmp_path):
    paths = [tmp_path / f"{number}.tar" for number in range(2)]
    for path, content in zip(paths, CONTENTS, strict=True):
        path.write_bytes(content)

    local = inputs.described([str(path) for path in paths], [], name="tars")
    remote = inputs.described([], urls, name="tars")

    assert [file.path for file in remote] == urls
    assert key(remote) == key(local)


@pytest.mark.parametrize("name", ["tars", "other_tars"])
def test_the_table_of_an_index_stands_for_the_tars_that_it_lists(inputs, urls, table, name):
    indexed = inputs.described([], urls, name="tars")

    assert inputs.described([table], [], name=name) == indexed


def test_a_remote_tar_is_found_as_a_stub_that_names_it(inputs, urls):
    files = inputs.described([], urls, name="tars")

    assert [read_stub(inputs.path(file)).url for file in files] == urls


def test_the_table_stands_for_nothing_without_its_index_in_this_store(inputs, table):
    with pytest.raises(InputError, match=r"no URL is known .* --forcerun index"):
        inputs.described([table], [], name="tars")


def test_a_users_file_has_no_labels_and_no_maker(inputs, tmp_path):
    (tmp_path / "0.tar").write_bytes(b"zero")
    path = str(tmp_path / "0.tar")

    digest = hashlib.sha256(b"zero").hexdigest()
    assert inputs.described([path], [], name="tars") == [ActionInput(digest, path)]
