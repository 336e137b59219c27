"""Training of the speaker classifiers: many voices, with every emotion, at every rate."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

from aor_lib.audio import mixing, scenes, speech
from aor_lib.audio.hearing import linear_classifier, transcription
from aor_lib.audio.hearing.linear_classifier import Features
from aor_lib.audio.hearing.speaker_classifier import TRAITS, WEIGHTS
from aor_lib.audio.speech.emotions import TARGETS
from aor_lib.audio.speech.prosody import express
from aor_lib.storage import assets
from aor_lib.storage.cache import Arrays
from aor_lib.storage.whole_file import whole_file
from aor_lib.storage.workers import map_jobs

VOICES = (
    "af_alloy",
    "af_aoede",
    "af_jessica",
    "af_kore",
    "af_nova",
    "af_river",
    "af_sarah",
    "am_adam",
    "am_echo",
    "am_eric",
    "am_liam",
    "am_onyx",
    "am_puck",
    "af_sky",
    "bf_alice",
    "bf_lily",
    "bm_daniel",
    "bm_lewis",
)
"""Voices of the training clips; no profile of the study uses them."""
SENTENCES = (
    "Could you tell me what time the next train leaves?",
    "Please put the two blue folders on the table over there.",
    "How many people are coming to the party on Sunday?",
    "I would like to know more about the garden behind the house.",
    "Why did nobody water the flowers while we were away?",
    "We should meet again next week and talk about the plan.",
    "Show me the photos from your last holiday by the sea.",
    "Is there any milk left, or do I have to buy some?",
    "My sister has moved to a small town near the mountains.",
)
"""Sentences of the training clips; no stimulus says them."""
_SENTENCES_EACH = 2  # of a voice, at each rate
_SNRS_DB = (3.0, 6.0, 12.0, 20.0)
_SEED = 7_100_000
_C = 0.01

Job = tuple[int, str, str, str]
"""A number, which decides the backgrounds, and the voice, the sentence and the rate."""


def train(workers: int, report: Callable[[int, int], None], into: Path = WEIGHTS) -> None:
    """Train the classifiers and write them to the file ``into``: eight minutes of two cores."""
    for asset in ("kokoro", "whisper-tiny-en"):
        assets.fetch(asset)  # here, or every worker would fetch it
    jobs = training_jobs()
    features: list[Features] = []
    for done, of_sentence in enumerate(map_jobs(training_features, jobs, workers), start=1):
        features += of_sentence
        report(done, len(jobs))
    arrays: Arrays = {}
    for trait in TRAITS:
        labels = [
            {"gender": speech.gender_of(voice), "emotion": emotion, "rate": rate}[trait]
            for _, voice, _, rate in jobs
            for emotion in TARGETS
        ]
        model = linear_classifier.fit(features, labels, _C)
        arrays |= {f"{trait}.{name}": array for name, array in model.items()}
    with whole_file(into) as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def training_jobs() -> list[Job]:
    """Every voice at every rate, sentences taking turns."""
    spoken = product(VOICES, speech.RATES, range(_SENTENCES_EACH))
    return [
        (number, voice, SENTENCES[number % len(SENTENCES)], rate)
        for number, (voice, rate, _) in enumerate(spoken)
    ]


def training_features(job: Job) -> list[Features]:
    """Features of a spoken sentence with each emotion in turn; every other one is over a scene."""
    number, voice, sentence, rate = job
    spoken = speech.KokoroVoice(voice).synthesise(sentence, rate)
    features = []
    for place, emotion in enumerate(TARGETS):
        rng = np.random.default_rng([_SEED, number, place])
        expressed = express(spoken, emotion)
        lead_in_s = float(rng.uniform(1.5, 2.5))
        length = mixing.clip_length(len(expressed), speech.SAMPLE_RATE, lead_in_s, 0.5)
        background = None
        if (number + place) % 2:
            scene = str(rng.choice(sorted(scenes.SCENES)))
            seconds = length / speech.SAMPLE_RATE
            background = scenes.render(scene, seconds, speech.SAMPLE_RATE, rng).samples
        mixed = mixing.mix(
            expressed,
            background,
            sample_rate=speech.SAMPLE_RATE,
            snr_db=float(rng.choice(_SNRS_DB)),
            lead_in_s=lead_in_s,
            tail_s=0.5,
            loudness_lufs=-23.0,
            true_peak_dbfs=-1.0,
        )
        features.append(transcription.encoder_features(mixed.samples, speech.SAMPLE_RATE))
    return features
