"""Names the scene of a clip from what Whisper's encoder heard (acoustic scene classification).

A logistic regression on :func:`~aor_lib.audio.hearing.transcription.encoder_features`, trained by
the study itself on procedural scenes from seeds that no stimulus uses, under speech of sentences
that no stimulus says. ``quiet`` (no background) and ``noise`` (steady noise) are classes of their
own. The weights ship with the library (:data:`WEIGHTS`); :func:`train` makes them again.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from aor_lib.audio import mixing, scenes, speech
from aor_lib.audio.hearing import linear_classifier, transcription
from aor_lib.storage import assets
from aor_lib.storage.cache import Arrays
from aor_lib.storage.whole_file import whole_file
from aor_lib.storage.workers import map_jobs

WEIGHTS = Path(__file__).parent / "weights" / "scenes.npz"
QUIET, NOISE = "quiet", "noise"
_CLIPS_PER_CLASS = 20
_SNRS_DB = (-3.0, 3.0, 6.0, 12.0, 20.0)
_VOICES = ("af_sarah", "am_adam", "bf_lily", "bm_lewis")
_SENTENCES = (
    "Could you tell me what time the next train leaves?",
    "I would like to know more about this.",
    "What is the best way to get it done before tonight?",
)
_SEED = 7_000_000


def classify(features: npt.NDArray[np.float32]) -> tuple[str, float]:
    """The most probable scene id (or ``quiet`` or ``noise``) and its probability."""
    return linear_classifier.classify(_trained(), features)


@functools.cache
def revision() -> str:
    """Changes exactly when the weights do."""
    return hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()[:12]


def train(workers: int, report: Callable[[int, int], None], into: Path = WEIGHTS) -> None:
    """Train the classifier and write it to the file ``into``: five minutes of two cores."""
    for asset in ("kokoro", "whisper-tiny-en"):
        assets.fetch(asset)  # here, or every worker would fetch it
    clips = [(label, n) for label in _classes() for n in range(_CLIPS_PER_CLASS)]
    features = []
    for made in map_jobs(training_features, clips, workers):
        features.append(made)
        report(len(features), len(clips))
    model = linear_classifier.fit(features, [label for label, _ in clips], c=0.05)
    with whole_file(into) as stream:
        np.savez(stream, allow_pickle=False, **model)


def training_features(clip: tuple[str, int]) -> npt.NDArray[np.float32]:
    """Features of one training clip, given by its class and its number: a sentence over a scene."""
    label, number = clip
    rng = np.random.default_rng([_SEED, _classes().index(label), number])
    voice = speech.KokoroVoice(_VOICES[number % len(_VOICES)])
    spoken = voice.synthesise(_SENTENCES[number // len(_VOICES) % len(_SENTENCES)], "normal")
    lead_in_s = float(rng.uniform(1.5, 2.5))
    length = mixing.clip_length(len(spoken), speech.SAMPLE_RATE, lead_in_s, 0.5)
    background = None
    if label != QUIET:
        scene = label if label != NOISE else str(rng.choice(scenes.SCENES))
        seconds = length / speech.SAMPLE_RATE
        background = scenes.render(scene, seconds, speech.SAMPLE_RATE, rng).samples
        if label == NOISE:
            background = scenes.spectrum_matched_noise(background, length, rng)
    mixed = mixing.mix(
        spoken,
        background,
        sample_rate=speech.SAMPLE_RATE,
        snr_db=_SNRS_DB[number % len(_SNRS_DB)],
        lead_in_s=lead_in_s,
        tail_s=0.5,
        loudness_lufs=-23.0,
        true_peak_dbfs=-1.0,
    )
    return transcription.encoder_features(mixed.samples, speech.SAMPLE_RATE)


def _classes() -> list[str]:
    return [*scenes.SCENES, NOISE, QUIET]


@functools.cache
def _trained() -> Arrays:
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
