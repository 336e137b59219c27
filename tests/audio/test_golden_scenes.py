"""Scenes sound as they did when dataset.VERSION was last raised.

``python -m tests.audio.test_golden_scenes`` writes the fingerprints anew. They are coarse, so that
processors that differ in the last bit of a float agree.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from aor_lib.audio.scenes.engine import render
from aor_lib.config.params import scene_ids
from aor_lib.stimuli.dataset import VERSION

GOLDEN = Path(__file__).parents[1] / "data" / "golden_scenes.json"
WRITE = "write the fingerprints anew: python -m tests.audio.test_golden_scenes"
TOLERANCE_DB = 0.1


def fingerprint(scene: str) -> list[float]:
    """Level in dB of 20 frames of a tenth of a second, and of three octave bands."""
    samples = render(scene, 2.0, 24_000, np.random.default_rng(0)).samples.astype(np.float64)
    frames = np.mean(np.square(samples.reshape(20, -1)), axis=1)
    power = np.square(np.abs(np.fft.rfft(samples))) / samples.size**2
    edges = np.array([177, 354, 707, 1414, 2828, 5657]) * 2  # bins of half a hertz
    bands = np.add.reduceat(power, edges)[[0, 2, 4]]
    return [round(level, 2) for level in (10 * np.log10([*frames, *bands])).tolist()]


@pytest.mark.parametrize("scene", scene_ids())
def test_a_scene_sounds_as_it_did_in_this_version(scene):
    golden = json.loads(GOLDEN.read_text())
    assert golden["version"] == VERSION, f"dataset.VERSION is another: {WRITE}"
    assert scene in golden["scenes"], f"{scene} is new: {WRITE}"
    moved_db = np.abs(np.subtract(fingerprint(scene), golden["scenes"][scene])).max()
    assert moved_db <= TOLERANCE_DB, (
        f"{scene} moved by {moved_db:.2f} dB: {WRITE}. If code changed, and not only its YAML, "
        "raise dataset.VERSION too, and train the tagger again: python -m reference.hearing"
    )


if __name__ == "__main__":
    golden = {"version": VERSION, "scenes": {scene: fingerprint(scene) for scene in scene_ids()}}
    lines = json.dumps(golden).replace('], "', '],\n"').replace("{", "{\n").replace("}", "\n}")
    GOLDEN.write_text(f"{lines}\n")
