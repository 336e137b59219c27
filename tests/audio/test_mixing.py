import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from scipy.signal import resample_poly

from aor_lib.audio import mixing
from aor_lib.config.profile import Mixing
from tests.audio.sounds import hiss

RATE = 24_000
SETTINGS = Mixing(lead_in_s=1.0)


def talking(seconds: float, level: float = 0.1) -> np.ndarray:
    t = np.arange(round(seconds * RATE)) / RATE
    return (level * np.sin(2 * np.pi * 440 * t) * (t % 1.0 < 0.6)).astype(np.float32)


@given(
    seconds=st.floats(0.3, 4.0),
    snr_db=st.floats(-20, 40),
    level=st.floats(1e-3, 1.0),
    seed=st.integers(0, 2**32 - 1),
)
@examples(max_examples=40)
def test_any_mix_has_the_stated_snr_loudness_and_peak(seconds, snr_db, level, seed):
    speech = talking(seconds, level)
    settings = SETTINGS.model_copy(update={"snr_db": snr_db})
    n = mixing.clip_length(len(speech), settings)
    noise = hiss(seed, n / RATE)
    made = mixing.mix(speech, noise, settings)
    assert (made.samples.dtype, made.samples.shape) == (np.float32, (n,))
    assert np.isfinite(made.samples).all()
    assert made.peak_dbfs <= -1.0 + 1e-6
    assert made.loudness_lufs <= -23.0 + 0.01
    if made.peak_dbfs < -1.1:
        assert made.loudness_lufs == pytest.approx(-23.0, abs=0.05)
    # The lead-in shows the gain of the noise; without the noise, the speech is left.
    noise *= made.samples[: RATE // 2].std() / noise[: RATE // 2].std()
    spoken = (made.samples - noise)[RATE : RATE + len(speech)]
    measured_db = mixing.active_speech_level_dbfs(spoken, RATE) - mixing.rms_dbfs(noise)
    assert measured_db == pytest.approx(snr_db, abs=0.5 if snr_db > -10 else 1.5)


@given(seed=st.integers(0, 99), power=st.integers(1, 5), length=st.integers(20, 3000))
def test_a_true_peak_is_the_one_of_the_whole_sound_at_four_times_its_rate(seed, power, length):
    sound = hiss(seed, length / RATE, level=0.5) ** power
    whole = np.abs(resample_poly(sound, 4, 1)).max()
    assert mixing.true_peak(sound) == pytest.approx(20 * np.log10(whole + 1e-10), abs=0.1)
