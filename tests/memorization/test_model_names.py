import pytest

from clipaudit.memorization.model_names import ModelName
from clipaudit.memorization.points import Point


@pytest.mark.parametrize("trained", ["a", "b"])
@pytest.mark.parametrize("size", [None, 1_000_000, 0.125, 1e-07])
@pytest.mark.parametrize("cut", [0, 12])
@pytest.mark.parametrize("epochs", [None, 8])
def test_the_name_of_a_points_model_reads_back(trained, size, cut, epochs):
    point = Point("p", "size", "", "base.seed-1.captions-5", size=size, cut=cut, epochs=epochs)

    model = ModelName.read(point.encoder(trained))

    assert (model.recipe, model.trained, model.cut, model.epochs) == (
        point.recipe, trained, cut, epochs,
    )  # fmt: skip
    assert (model.encoder, model.manifest) == (point.encoder(trained), point.manifest(trained))
    assert (model.size is None) == (size is None)


@pytest.mark.parametrize("encoder", ["vit", "base.set-holdout", "base.set-a.other", "set-a"])
def test_another_encoder_is_no_model_of_a_or_b(encoder):
    assert ModelName.read(encoder) is None
