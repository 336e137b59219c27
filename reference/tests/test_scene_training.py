import numpy as np
import pytest

from aor_lib.audio import scenes
from aor_lib.audio.hearing.scene_classifier import NOISE, QUIET, SCENE_WEIGHTS, classify_scene
from reference.hearing.scene_training import training_features


def test_it_knows_scenes_and_what_is_none():
    with np.load(SCENE_WEIGHTS) as weights:
        assert {NOISE, QUIET} < set(weights["classes"]) <= {*scenes.SCENES, NOISE, QUIET}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        (["barbecue", "stadium", QUIET], [1001]),
        pytest.param([*scenes.SCENES, NOISE, QUIET], [1001, 1002], marks=pytest.mark.nightly),
    ],
)
def test_it_names_scenes_of_seeds_that_it_was_not_trained_on(labels, numbers):
    clips = [(label, number) for label in labels for number in numbers]
    right = [classify_scene(training_features(clip)) == clip[0] for clip in clips]
    assert np.mean(right) >= 0.9
