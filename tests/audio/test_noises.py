"""Rain, fire and machines have the spectra of real ones."""

import csv

import numpy as np
import pytest
from scipy import signal

from aor_lib.audio.scenes.octaves import TABLE, equalised
from aor_lib.audio.scenes.sounds.machines import chainsaw, engine
from aor_lib.audio.scenes.sounds.noises import fire
from aor_lib.audio.scenes.sounds.water import rain
from aor_lib.audio.scenes.synth import Synth
from benchmarks.octaves import levels_db

RATE = 24_000
SEEDS = range(4)


def synth(seed):
    return Synth(RATE, np.random.default_rng(seed))


def share(samples, low_hz, high_hz):
    hz, power = signal.welch(samples, RATE, nperseg=8192)
    return power[(hz >= low_hz) & (hz < high_hz)].sum() / power.sum()


@pytest.mark.parametrize("seed", SEEDS)
def test_rain_is_no_hiss_and_a_third_of_a_fire_is_a_low_roar_and_a_tenth_a_crackle(seed):
    assert share(rain(synth(seed), seconds=8.0), 3000, 12_000) < 0.5
    made = fire(synth(seed), seconds=8.0)
    assert share(made, 0, 250) > 0.3
    assert share(made, 2000, 12_000) > 0.1


@pytest.mark.parametrize("seed", SEEDS)
def test_an_engine_and_a_chainsaw_have_noise_between_their_harmonics(seed):
    for machine, pitch_hz in ((engine, 40.0), (chainsaw, 180.0)):
        made = machine(synth(seed), seconds=8.0, pitch_hz=pitch_hz)
        _, power = signal.welch(made, RATE, nperseg=8192)
        assert np.sort(power)[::-1][: power.size // 50].sum() < 0.9 * power.sum()


def test_octaves_of_a_texture_wander_each_by_itself():
    made = synth(0).texture(20 * RATE, ((60, 0.0), (10_000, 0.0)), 0.8, 5.0)
    sos = [signal.butter(4, (hz, 1.4 * hz), "band", fs=RATE, output="sos") for hz in (400, 3200)]
    levels = [
        np.log(np.square(signal.sosfilt(s, made)).reshape(-1, RATE // 10).mean(axis=1)) for s in sos
    ]
    assert min(np.std(level) for level in levels) > 0.3
    assert abs(np.corrcoef(levels)[0, 1]) < 0.4


def test_a_sound_takes_the_octaves_of_its_labels_recordings_if_there_are_any():
    hiss = synth(0).noise(5 * RATE, ((60, -20.0), (10_000, 0.0)))
    equal = equalised(hiss, synth(1), "Idling")
    with TABLE.open(encoding="utf-8") as file:
        medians = next(row for row in csv.reader(file) if row[0] == "Idling")[1:]
    difference = levels_db(equal, RATE) - np.array(medians, np.float64)
    assert np.max(np.abs(difference - difference.mean())) < 6.0
    np.testing.assert_array_equal(equalised(hiss, synth(1), "Owl"), hiss)


def test_an_equalised_attack_stays_as_sharp_as_it_was():
    struck = np.zeros(RATE)
    hall = synth(0)
    noise = hall.noise(RATE // 2, ((60, 0.0), (10_000, 0.0)))
    struck[RATE // 2 :] = noise * hall.decay(RATE // 2, 0.1)
    equal = np.square(equalised(struck, synth(1), "Hammer"))
    assert equal[: RATE // 2].sum() < 1e-6 * equal.sum()
