"""Training of the scene classifier: a sentence over every scene, over noise and in quiet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from aor_lib.audio import mixing, scenes, speech
from aor_lib.audio.hearing import transcription
from aor_lib.audio.hearing.scene_classifier import NOISE, QUIET, SCENE_WEIGHTS
from aor_lib.audio.hearing.transcription import Features
from aor_lib.config.profile import Mixing
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.workers import map_jobs
from reference.hearing.compositions import fetch_weights

_CLASSES = (*scenes.SCENES, NOISE, QUIET)
_CLIPS_PER_CLASS = 20
_SNRS_DB = (-3.0, 3.0, 6.0, 12.0, 20.0)
_VOICES = ("af_sarah", "am_adam", "bf_lily", "bm_lewis")
_SENTENCES = (
    "Could you tell me what time the next train leaves?",
    "I would like to know more about this.",
    "What is the best way to get it done before tonight?",
)
_SEED = 7_000_000


def train(workers: int, report: Callable[[int, int], None], into: Path = SCENE_WEIGHTS) -> None:
    """Train the classifier and write it to the file ``into``: five minutes of two cores."""
    fetch_weights()
    clips = [(label, n) for label in _CLASSES for n in range(_CLIPS_PER_CLASS)]
    features = []
    for made in map_jobs(training_features, clips, workers):
        features.append(made)
        report(len(features), len(clips))
    scaler = StandardScaler().fit(features)
    model = LogisticRegression(C=0.05, max_iter=2000)
    model.fit(scaler.transform(features), [label for label, _ in clips])
    with atomic_write(into) as stream:
        np.savez(
            stream,
            allow_pickle=False,
            classes=np.array(model.classes_, dtype=str),
            weights=model.coef_,
            bias=model.intercept_,
            mean=scaler.mean_,
            scale=scaler.scale_,
        )


def training_features(clip: tuple[str, int]) -> Features:
    """Encode one training clip, given by class and number: a sentence over a scene."""
    label, number = clip
    rng = np.random.default_rng([_SEED, _CLASSES.index(label), number])
    sentence = _SENTENCES[number // len(_VOICES) % len(_SENTENCES)]
    spoken = speech.synthesise(sentence, _VOICES[number % len(_VOICES)])
    snr_db = _SNRS_DB[number % len(_SNRS_DB)]
    settings = Mixing(lead_in_s=float(rng.uniform(1.5, 2.5)), snr_db=snr_db)
    length = mixing.clip_length(len(spoken), settings)
    background = None
    if label != QUIET:
        scene = label if label != NOISE else str(rng.choice(scenes.SCENES))
        seconds = length / speech.SAMPLE_RATE
        background = scenes.render(scene, seconds, speech.SAMPLE_RATE, rng).samples
        if label == NOISE:
            background = scenes.spectrum_matched_noise(background, length, rng)
    mixed = mixing.mix(spoken, background, settings)
    return transcription.listen(mixed.samples, speech.SAMPLE_RATE)[0]
