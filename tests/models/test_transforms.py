import numpy as np
import pytest
import torch
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL import Image

from clipaudit.models.transforms import evaluation_preparation, training_preparation

SETTINGS = [
    PreprocessCfg(size=32),
    PreprocessCfg(
        size=(32, 32), mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4), interpolation="bilinear"
    ),
    PreprocessCfg(size=24, resize_mode="squash"),
    PreprocessCfg(size=24, resize_mode="longest"),
]


@pytest.fixture
def pictures():
    rng = np.random.default_rng(0)
    return [
        Image.fromarray(rng.integers(0, 256, (*size, 3), np.uint8))
        for size in [(64, 64), (40, 90), (17, 5)]
    ]


def prepared(preparation, pictures):
    pixels = torch.from_numpy(np.stack([preparation.pixels(each) for each in pictures]))
    return preparation.tensor(pixels, torch.device("cpu"))


@pytest.mark.parametrize("settings", SETTINGS)
def test_evaluation_preparation_equals_open_clip_exactly(settings, pictures):
    stock = image_transform_v2(settings, is_train=False)

    tensors = prepared(evaluation_preparation(settings), pictures)

    assert torch.equal(tensors, torch.stack([stock(each) for each in pictures]))


@pytest.mark.parametrize("settings", SETTINGS[:2])
def test_training_preparation_equals_open_clip_exactly(settings, pictures):
    stock = image_transform_v2(settings, is_train=True, aug_cfg={"scale": (0.5, 1.0)})
    preparation = training_preparation(settings, crop_scale=(0.5, 1.0))

    torch.manual_seed(1)
    tensors = prepared(preparation, pictures)

    torch.manual_seed(1)
    assert torch.equal(tensors, torch.stack([stock(each) for each in pictures]))
