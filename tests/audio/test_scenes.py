"""Scenes: exact, reproducible, dense and told apart; the noise control: matched and no more."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import signal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aor_lib.audio.scenes import SCENES, Soundscape, render, spectrum_matched_noise
from aor_lib.audio.scenes.canvas import Canvas
from aor_lib.config.params import load_scenarios

RATE = 24_000


@cache
def clip(scene: str, seed: int = 0) -> Soundscape:
    return render(scene, 6.0, RATE, np.random.default_rng(seed))


def rms_db(samples: NDArray[np.float32]) -> float:
    return float(10 * np.log10(np.mean(np.square(samples, dtype=np.float64))))


def band_levels_db(samples: NDArray[np.float32]) -> NDArray[np.float64]:
    """Welch level in the third-octave bands from 100 Hz to 10 kHz."""
    frequencies, power = signal.welch(samples.astype(np.float64), RATE, nperseg=8192)
    centres = 1000.0 * 2.0 ** (np.arange(-10, 11) / 3)
    bands = [
        power[(frequencies >= hz * 2 ** (-1 / 6)) & (frequencies < hz * 2 ** (1 / 6))].sum()
        for hz in centres
    ]
    return np.asarray(10 * np.log10(bands))


def test_the_catalogue_holds_exactly_the_scenes_of_the_scenarios_in_their_packages() -> None:
    composed = {scene: composer.__module__.split(".")[-2] for scene, composer in SCENES.items()}
    named = {
        scene.id: scenario_id
        for scenario_id, scenario in load_scenarios().items()
        for scene in scenario.scenes
    }
    assert composed == named


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_is_a_finite_float32_clip_of_exact_length_that_peaks_at_nine_tenths(
    scene: str,
) -> None:
    rendered = render(scene, 1.2345, 22_050, np.random.default_rng(1))
    assert rendered.samples.dtype == np.float32
    assert rendered.samples.shape == (round(1.2345 * 22_050),)
    assert rendered.sample_rate == 22_050
    assert np.isfinite(rendered.samples).all()
    assert np.abs(rendered.samples).max() == pytest.approx(0.9, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scene", SCENES)
def test_every_two_seconds_of_a_scene_are_about_as_loud_as_the_whole(scene: str, seed: int) -> None:
    samples = clip(scene, seed).samples
    windows = np.lib.stride_tricks.sliding_window_view(samples, 2 * RATE)[:: RATE // 4]
    assert min(rms_db(window) for window in windows) > rms_db(samples) - 6.0


@pytest.mark.parametrize("scene", SCENES)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_scene(scene: str) -> None:
    first = clip(scene, 0)
    again = render(scene, 6.0, RATE, np.random.default_rng(0))
    assert again.samples.tobytes() == first.samples.tobytes()
    assert again.events == first.events
    other = clip(scene, 1)
    assert abs(np.corrcoef(first.samples, other.samples)[0, 1]) < 0.2
    assert other.events != first.events


def test_rendering_draws_from_the_passed_generator_only() -> None:
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # type: ignore[index] # noqa: NPY002
    render("stadium", 0.5, 8000, np.random.default_rng(0))
    assert np.array_equal(before, np.random.get_state()[1])  # type: ignore[index] # noqa: NPY002


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scene", SCENES)
def test_events_lie_within_the_clip_in_order_and_reach_every_two_seconds(
    scene: str, seed: int
) -> None:
    events = clip(scene, seed).events
    onsets = [event.onset_s for event in events]
    assert onsets == sorted(onsets)
    assert all(event.onset_s >= 0 and event.duration_s > 0 for event in events)
    assert all(event.onset_s + event.duration_s <= 6.0 + 1e-9 for event in events)
    assert max(later - sooner for sooner, later in pairwise([0.0, *onsets, 6.0])) < 2.0
    assert len({event.name for event in events}) >= 2


@pytest.mark.parametrize(
    ("scene", "duration_s", "sample_rate", "message"),
    [
        ("ambulence", 1.0, RATE, "did you mean 'ambulance'"),
        ("", 1.0, RATE, "stealth_shooter"),
        ("stadium", 0.0, RATE, "duration_s"),
        ("stadium", -1.0, RATE, "duration_s"),
        ("stadium", 120.5, RATE, "duration_s"),
        ("stadium", float("nan"), RATE, "duration_s"),
        ("stadium", float("inf"), RATE, "duration_s"),
        ("stadium", 1e-6, RATE, "shorter than one sample"),
        ("stadium", 1.0, 7999, "sample_rate"),
    ],
)
def test_a_bad_request_is_refused_with_its_reason(
    scene: str, duration_s: float, sample_rate: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        render(scene, duration_s, sample_rate, np.random.default_rng(0))


def test_a_composer_that_adds_nothing_is_an_error_rather_than_silence() -> None:
    with pytest.raises(RuntimeError, match="silent"):
        Canvas(100, RATE, np.random.default_rng(0)).finish()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    scene=st.sampled_from(sorted(SCENES)),
    duration_s=st.floats(1e-4, 2.5),
    sample_rate=st.sampled_from([8000, 16_000, 44_100]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_duration_rate_and_seed_give_a_valid_scene(
    scene: str, duration_s: float, sample_rate: int, seed: int
) -> None:
    rendered = render(scene, duration_s, sample_rate, np.random.default_rng(seed))
    length_s = rendered.samples.size / sample_rate
    assert rendered.samples.size == round(duration_s * sample_rate)
    assert np.isfinite(rendered.samples).all()
    assert np.abs(rendered.samples).max() == pytest.approx(0.9, abs=1e-4)
    assert list(rendered.events) == sorted(rendered.events, key=lambda event: event.onset_s)
    for event in rendered.events:
        assert 0 <= event.onset_s < event.onset_s + event.duration_s <= length_s + 1e-9


@pytest.mark.parametrize("scene", SCENES)
def test_matched_noise_has_the_level_and_the_spectrum_of_its_reference(scene: str) -> None:
    reference = clip(scene).samples
    noise = spectrum_matched_noise(reference, 10 * RATE, np.random.default_rng(5))
    assert noise.dtype == np.float32
    assert noise.shape == (10 * RATE,)
    assert rms_db(noise) == pytest.approx(rms_db(reference), abs=0.5)
    difference_db = np.abs(band_levels_db(noise) - band_levels_db(reference))
    assert np.median(difference_db) < 1.0
    assert difference_db.max() < 2.0


def test_matched_noise_is_stationary_gaussian_and_unrelated_to_its_reference() -> None:
    reference = clip("boxing_gym").samples
    noise = spectrum_matched_noise(reference, reference.size, np.random.default_rng(5))
    assert abs(np.corrcoef(noise, reference)[0, 1]) < 0.05
    seconds = noise.reshape(-1, RATE)
    assert np.ptp([rms_db(second) for second in seconds]) < 2.0
    kurtosis = np.mean(noise**4) / np.mean(noise**2) ** 2
    assert kurtosis == pytest.approx(3.0, abs=0.3)


def test_matched_noise_follows_its_generator() -> None:
    reference = clip("stadium").samples
    first, again, other = (
        spectrum_matched_noise(reference, 4000, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert first.tobytes() == again.tobytes()
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("reference", "n_samples", "message"),
    [
        (np.zeros(100), 10, "silent"),
        (np.array([]), 10, "dimension"),
        (np.ones((2, 50)), 10, "dimension"),
        (np.array([0.1, np.nan]), 10, "finite"),
        (np.ones(100), 0, "positive"),
    ],
)
def test_noise_cannot_match_a_bad_reference(
    reference: NDArray[np.float64], n_samples: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        spectrum_matched_noise(reference, n_samples, np.random.default_rng(0))


def test_a_linear_classifier_names_unheard_renderings_from_two_seconds() -> None:
    def features(samples: NDArray[np.float32]) -> NDArray[np.float64]:
        frequencies, _, power = signal.spectrogram(samples, RATE, nperseg=600, noverlap=300)
        edges = np.searchsorted(frequencies, np.geomspace(60.0, 11_000.0, 25))
        energy = np.add.reduceat(power, np.unique(edges), axis=0)
        level = np.log10(energy + 1e-10)
        return np.concatenate([level.mean(axis=1), level.std(axis=1)])

    def excerpts(seeds: range) -> tuple[NDArray[np.float64], list[str]]:
        rows, names = [], []
        for scene in SCENES:
            for seed in seeds:
                samples = clip(scene, seed).samples
                for excerpt in np.split(samples / samples.std(), 3):
                    rows.append(features(excerpt))
                    names.append(scene)
        return np.array(rows), names

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(*excerpts(range(5)))
    assert model.score(*excerpts(range(5, 9))) >= 0.9
