"""Scenes as data render exactly, reproducibly and densely; the noise control matches one."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import signal

from aor_lib.audio.mixing import rms_dbfs
from aor_lib.audio.scenes.engine import render, spectrum_matched_noise
from aor_lib.audio.scenes.sources import check
from aor_lib.config.params import PARAMS, load_scene, scene_ids
from aor_lib.config.scene import Scene
from aor_lib.config.typed_yaml import ParamsError

RATE = 16_000


def clip(scene, seconds=2.0, seed=0, rate=RATE):
    return render(scene, seconds, rate, np.random.default_rng(seed))


@pytest.mark.slow
@pytest.mark.parametrize("scene", scene_ids())
def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_scene(scene):
    first, again, other = clip(scene), clip(scene), clip(scene, seed=1)
    assert again.samples.tobytes() == first.samples.tobytes()
    assert again.events == first.events
    assert abs(np.corrcoef(first.samples, other.samples)[0, 1]) < 0.3
    assert other.events != first.events


@pytest.mark.slow
@pytest.mark.parametrize("scene", scene_ids())
def test_all_events_of_a_scene_come_and_no_two_seconds_are_without_one_or_quiet(scene):
    made = clip(scene, 8.0)
    declared = load_scene(scene).events
    names = {event.name for event in declared} | {f.name for e in declared for f in e.then}
    assert {event.name for event in made.events} == names
    onsets = [event.onset_s for event in made.events]
    assert onsets == sorted(onsets)
    assert max(later - sooner for sooner, later in pairwise([0.0, *onsets, 8.0])) < 2.0
    windows = np.lib.stride_tricks.sliding_window_view(made.samples, 2 * RATE)[:: RATE // 4]
    assert min(map(rms_dbfs, windows)) > rms_dbfs(made.samples) - 6.0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("clatter", "clater", r"cup.sound: .*'clater'.*'clatter'"),
        ("contacts: [1, 3]", "contacts: [3, 1]", r"contacts: .*3, 1"),
        ("crockery", "crokery", r"cup.params: thing: 'crokery'.*'crockery'"),
        ("gap_s: 0.7", "gap: 0.7", r"events.2: gap: .*'gap_s'"),
        ("gap_s: 0.7", "beats: [0]", r"'cup' .*tempo_bpm"),
        ("sound: clatter", "chance: 1", r"'cup' .*sound"),
        ("murmur", "bell", r"bed.0.sound: 'bell'"),
    ],
)
def test_a_wrong_scene_is_one_line_that_names_file_field_and_value(tmp_path, old, new, message):
    path = tmp_path / "cafe.yaml"
    path.write_text((PARAMS / "scenes/cafe.yaml").read_text().replace(old, new, 1))
    with pytest.raises(ParamsError, match=rf"cafe\.yaml: .*{message}") as caught:
        check(load_scene(path))
    assert "\n" not in str(caught.value)


def test_ranges_in_params_are_drawn_once_and_in_each_at_every_occurrence():
    def pitches(key):
        drawn = {"pitch_hz": [200, 4000], "seconds": 0.5, "wave": "sine"}
        event = {"name": "beep", "sound": "tone", "gap_s": 0.8, "level_db": -4, key: drawn}
        bed = [{"sound": "noise", "params": {"spectrum": [[100, 0]]}, "level_db": -60}]
        about = {"id": "beeps", "kind": "neutral", "description": "beeps"}
        made = clip(Scene.model_validate(about | {"events": [event], "bed": bed}), 6.0)
        for sound in made.events[:-2]:
            start = round(sound.onset_s * RATE)
            yield np.abs(np.fft.rfft(made.samples[start : start + RATE // 4])).argmax()

    assert np.ptp(list(pitches("params"))) <= 1
    assert np.ptp(list(pitches("each"))) > 50


@pytest.mark.slow
@pytest.mark.parametrize("scene", [s for s in scene_ids() if load_scene(s).kind != "benign"])
def test_every_event_of_a_neutral_or_threatening_scene_is_heard_before_the_speech(scene):
    names = {event.name for event in load_scene(scene).events}
    for seed in range(8):
        assert names <= {event.name for event in clip(scene, seed=seed).events}


def band_levels_db(samples):
    frequencies, power = signal.welch(samples.astype(np.float64), RATE, nperseg=8192)
    edges = np.searchsorted(frequencies, 1000.0 * 2.0 ** ((np.arange(-10, 9) - 0.5) / 3))
    return 10 * np.log10(np.add.reduceat(power, edges)[:-1])


def test_matched_noise_has_the_level_and_the_spectrum_of_its_reference_and_else_is_noise():
    reference = clip("film_set", 6.0).samples
    noise = spectrum_matched_noise(reference, 10 * RATE, np.random.default_rng(5))
    assert (noise.dtype, noise.shape) == (np.float32, (10 * RATE,))
    assert rms_dbfs(noise) == pytest.approx(rms_dbfs(reference), abs=0.5)
    difference_db = np.abs(band_levels_db(noise) - band_levels_db(reference))
    assert np.median(difference_db) < 1.0
    assert difference_db.max() < 2.0
    assert abs(np.corrcoef(noise[: reference.size], reference)[0, 1]) < 0.1
    assert np.ptp([rms_dbfs(second) for second in noise.reshape(-1, RATE)]) < 2.0
    assert np.mean(noise**4) / np.mean(noise**2) ** 2 == pytest.approx(3.0, abs=0.3)
    again = spectrum_matched_noise(reference, 10 * RATE, np.random.default_rng(5))
    assert noise.tobytes() == again.tobytes()
