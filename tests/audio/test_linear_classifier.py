import numpy as np
import pytest

from aor_lib.audio.hearing.linear_classifier import classify, fit


@pytest.mark.parametrize("classes", [["left", "right"], ["down", "left", "right"]])
def test_it_tells_apart_what_lies_apart(classes):
    rng = np.random.default_rng(0)
    centres = {name: rng.normal(0, 5, 6) for name in classes}
    labels = classes * 30
    features = [(centres[name] + rng.normal(0, 0.5, 6)).astype(np.float32) for name in labels]
    model = fit(features, labels, 1.0)
    for name, centre in centres.items():
        found, probability = classify(model, centre.astype(np.float32))
        assert found == name
        assert 1 / len(classes) < probability <= 1


def test_the_probabilities_of_two_classes_are_those_of_the_logistic_function():
    features = [np.array([x], dtype=np.float32) for x in (-2, -1, 1, 2)]
    model = fit(features, ["a", "a", "b", "b"], 1.0)
    at = np.array([0.5], dtype=np.float32)
    score = (0.5 - model["mean"][0]) / model["scale"][0] * model["weights"][0, 0] + model["bias"][0]
    assert classify(model, at) == ("b", pytest.approx(1 / (1 + np.exp(-score))))
