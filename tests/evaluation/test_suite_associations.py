import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from test_suite import BY_NAME, CPU, picture, run, values

from clipaudit.errors import InputError, TooSmall
from clipaudit.evaluation.suite_associations import (
    Score,
    association_scores,
    jaccard_scores,
    prompt,
)
from clipaudit.models.pictures import Running
from clipaudit.models.transforms import evaluation_preparation

TASK = BY_NAME["misc/winogavil"]
ROWS = [(5, [1]), (6, [0, 5]), (10, [2, 3, 4]), (12, [11])]  # candidates, the right ones


def written(folder, rows=ROWS, **changed):
    """Instances as `Dataset.to_parquet` writes them."""
    rng = np.random.default_rng(3)
    table = [
        {
            "cue": "dog",
            "candidates": [f"p{at}" for at in range(count)],
            "associations": [f"p{at}" for at in right],
            "candidate_images": [
                {"bytes": picture(rng), "path": f"{at}.png"} for at in range(count)
            ],
        }
        for count, right in rows
    ]
    table[-1] |= changed
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(table), folder / "test.parquet")
    return folder


def red(level):
    file = io.BytesIO()
    Image.new("RGB", (40, 40), (level, 0, 0)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def chosen(clip, tmp_path):
    """The scores of instances in which a redder image is more similar."""

    class Red:
        def encode_image(self, images):
            return torch.stack([images[:, 0].mean(dim=(1, 2)), torch.ones(len(images))], dim=1)

        def encode_text(self, tokens):
            return torch.tensor([[1.0, 0.0]])

    return lambda folder: association_scores(
        folder, Red(), clip, evaluation_preparation(clip.preprocessing), Running(4, 0, CPU)
    )


def test_the_number_of_chosen_images_equals_the_number_of_right_ones(chosen, tmp_path):
    scores = chosen(written(tmp_path / "set"))

    assert [score.candidates for score in scores] == [5, 6, 10, 12]
    possible = [{0, 1}, {0, 1 / 3, 1}, {0, 1 / 5, 1 / 2, 1}, {0, 1}]
    assert all(score.jaccard in each for score, each in zip(scores, possible, strict=True))


def test_the_most_similar_images_are_chosen(chosen, tmp_path):
    reds = [{"bytes": red(level), "path": "x"} for level in (10, 250, 30, 200, 40)]
    folder = written(tmp_path / "set", [(5, [1, 2])], candidate_images=reds)

    assert [score.jaccard for score in chosen(folder)] == [1 / 3]  # 1 and 3 are chosen


@given(
    st.lists(
        st.tuples(st.sampled_from([5, 6, 10, 12]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1
    )
)
def test_means_are_grouped_by_the_number_of_candidates(pairs):
    found = jaccard_scores([Score(*pair) for pair in pairs])

    for name, sizes in {"5-6": (5, 6), "10-12": (10, 12)}.items():
        own = [score for size, score in pairs if size in sizes]
        mean = sum(own) / len(own) if own else float("nan")
        assert found[f"jaccard_score_{name}"] == pytest.approx(mean, nan_ok=True)


def test_the_main_metric_is_over_ten_or_more_candidates(clip, tmp_path):
    table = run(clip, TASK, written(tmp_path / "set"))

    assert table.to_pylist()[-1]["main"]
    assert 0 <= values(table)["jaccard_score_10-12"] <= 1


def test_a_set_without_an_instance_of_ten_candidates_is_too_small(clip, tmp_path):
    folder = written(tmp_path / "set", [(5, [1]), (6, [0, 5])])

    with pytest.raises(TooSmall, match=r"WinoGAViL: 2 instances, none with 10 candidates"):
        run(clip, TASK, folder)


def test_the_article_matches_the_cue():
    assert [prompt(cue) for cue in ("Umbrella", "cat")] == ["An umbrella", "A cat"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"cue": None}, r"test.parquet: row 3: no cue\. Fetch the test split"),
        ({"associations": ["x"]}, "12 images, 12 candidates, 0 of them associations"),
        ({"candidates": ["p11"]}, "12 images, 1 candidates"),
        ({"candidate_images": [{"bytes": None, "path": "x"}] * 12}, "an image without `bytes`"),
        ({"candidate_images": [{"bytes": b"x", "path": "x"}] * 12}, "row 3: an image cannot be"),
    ],
)
def test_a_row_that_is_not_an_instance_is_refused(clip, tmp_path, changed, message):
    with pytest.raises(InputError, match=message):
        run(clip, TASK, written(tmp_path / "set", **changed))


def test_of_a_file_with_paths_alone_the_message_says_how_to_embed_images(clip, tmp_path):
    paths = [{"bytes": None, "path": "a.jpg"}] * 12  # as to_parquet writes images that are files

    with pytest.raises(InputError, match=r"without `bytes`\. .*embed its images by .*embed_table"):
        run(clip, TASK, written(tmp_path / "set", candidate_images=paths))


def test_a_folder_without_parquet_is_refused(clip, tmp_path):
    with pytest.raises(InputError, match=r"no \.parquet file in it or below"):
        run(clip, TASK, tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"x")
    with pytest.raises(InputError, match=r"x\.parquet: cannot be read"):
        run(clip, TASK, tmp_path)
