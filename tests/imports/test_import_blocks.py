import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.corpora.parts import expand_shards
from clipaudit.errors import ConfigError
from clipaudit.imports.blocks import Imported, file_patterns

names = st.builds(
    lambda folder, number, width: f"{folder}{number:0{width}d}.tar",
    st.sampled_from(["a/", "a/b-1-", ""]),
    st.integers(0, 120),
    st.integers(1, 5),
)


@given(st.lists(names, min_size=1, unique=True))
def test_patterns_expand_to_the_files_in_their_order(paths):
    assert expand_shards(file_patterns(paths)) == paths


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({"corpora": {"my web": {"shards": "a.tar"}}}, r"corpora\.my web.*: String should match"),
        ({"corpora": {"web": {"of": "a"}}}, r"corpora\.web: a split has `of` and either"),
    ],
)
def test_a_block_that_the_settings_would_refuse_is_refused(blocks, message):
    with pytest.raises(ConfigError, match=message):
        Imported(blocks)
