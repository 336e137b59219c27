"""One stimulus from its specification: sound files, and the row that says what is in them.

Everything follows from the specification and the mixing settings alone, so a stimulus has the same
bytes wherever and whenever it is rendered.
"""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aor_lib.audio import mixing, speech
from aor_lib.audio import scenes as soundscape
from aor_lib.audio.recordings import library as recordings
from aor_lib.audio.recordings.backgrounds import recorded_scene
from aor_lib.audio.sound_files import flac
from aor_lib.audio.speech.prosody import TARGETS, express
from aor_lib.config.params import PARAMS
from aor_lib.config.profile import Mixing
from aor_lib.config.records import Condition, Stimulus, content_hash
from aor_lib.stimuli.design import StimulusSpec
from aor_lib.storage import assets

VERSION = 2
"""Counts the changes to what a clip sounds like: to speech, scenes, mixing or their files.

It is part of what a stimulus is made from. Raise it when the same specification gives other bytes;
tests/test_golden.py notices when that is forgotten.
"""
MAX_DURATION_S = 30.0
"""The longest clip: what Whisper, the shortest-sighted of the listeners, takes in at once."""
_CALL_AT_S = 0.2
_CALL_OVER_SCENE_DB = 6.0


@dataclass(frozen=True)
class Rendering:
    """A stimulus' manifest row, and the content of its sound files by their path."""

    row: Stimulus
    files: dict[str, bytes]


@dataclass(frozen=True)
class Background:
    """What is heard beside the speech: float32, ``(samples,)``, and where it comes from."""

    samples: mixing.Samples
    events: tuple[soundscape.Event, ...]
    source: str
    licence: str


def render(spec: StimulusSpec, settings: Mixing, library: Path | None) -> Rendering:
    """Make one stimulus.

    Parameters
    ----------
    library
        Folder of recorded backgrounds (:mod:`aor_lib.audio.recordings.library`), preferred where
        they exist.

    Raises
    ------
    ParamsError, SpeechError, AssetError
        As said by their messages; speech that makes a clip longer than 30 s is an error.
    """
    if not spec.condition.has_audio:
        presented = _presented_text(spec)
        row = _row(spec, presented.encode(), presented_text=presented)
        return Rendering(row, {})
    files: dict[str, bytes] = {}
    history = _earlier_turns(spec, settings, library, files)
    spoken = speak(spec)
    background = _background(spec, _length(spoken, settings), library)
    # Loudness is brought to one level, except for what an emotion adds to it or takes away.
    energy_db = TARGETS[spec.emotion or "neutral"].level_db
    mixed = _mix(spoken, background, spec.snr_db, settings, energy_db)
    duration_s = len(mixed.samples) / speech.SAMPLE_RATE
    if duration_s > MAX_DURATION_S:
        raise speech.SpeechError(
            f"{spec.stimulus_id}: the clip is {duration_s:.1f} s long, over {MAX_DURATION_S:g} s: "
            "shorten the utterance's text"
        )
    audio = flac(mixed.samples, "PCM_16")
    path = f"clips/{spec.stimulus_id}.flac"
    files[path] = audio
    assert spec.voice is not None
    row = _row(
        spec,
        audio,
        gender=speech.gender_of(spec.voice),
        background_source=background.source if background else None,
        background_licence=background.licence if background else None,
        events=json.dumps([asdict(event) for event in background.events] if background else []),
        history=json.dumps(history),
        lead_in_s=settings.lead_in_s,
        duration_s=duration_s,
        sample_rate=speech.SAMPLE_RATE,
        path=path,
        loudness_lufs=round(mixed.loudness_lufs, 3),
        peak_dbfs=round(mixed.peak_dbfs, 3),
    )
    return Rendering(row, files)


def made_from(spec: StimulusSpec, settings: Mixing, library: Path | None) -> str:
    """Hash of everything that decides a stimulus."""
    shaped_by = [VERSION, *_sources(spec, library)] if spec.condition.has_audio else []
    return content_hash([spec.model_dump(mode="json"), settings.model_dump(), *shaped_by])


def speak(spec: StimulusSpec) -> mixing.Samples:
    """The speech of a stimulus before it is mixed: float32, ``(samples,)``, 24 kHz."""
    assert spec.voice is not None
    assert spec.rate is not None
    spoken = speech.load_voice(spec.voice).synthesise(spec.utterance.text, spec.rate)
    return express(spoken, spec.emotion or "neutral")


def _sources(spec: StimulusSpec, library: Path | None) -> list[object]:
    """Identify the weights, the voice's file and the recordings that a clip is made of."""
    voice = PARAMS / "voices" / f"{spec.voice}.yaml"
    return [
        _weights(),
        voice.read_text(encoding="utf-8") if voice.is_file() else None,
        recordings.library_sha256(library) if library is not None else None,
    ]


@functools.cache
def _weights() -> str:
    return assets.revision("kokoro")


def _presented_text(spec: StimulusSpec) -> str:
    if spec.condition is Condition.DESCRIBED:
        return f"In the background one hears {spec.scene_description}.\n{spec.utterance.text}"
    return spec.utterance.text


def _row(spec: StimulusSpec, content: bytes, **measured: object) -> Stimulus:
    common: dict[str, Any] = dict.fromkeys(Stimulus.model_fields) | {
        "stimulus_id": spec.stimulus_id,
        "utterance_id": spec.utterance.id,
        "scenario": spec.utterance.scenario,
        "intent": spec.utterance.intent,
        "text": spec.utterance.text,
        "voice": spec.voice,
        "emotion": spec.emotion,
        "rate": spec.rate,
        "background_scene": spec.scene,
        "events": "[]",
        "snr_db": spec.snr_db,
        "seed": spec.seed,
        "block": spec.block,
        "condition": spec.condition,
        "sha256": hashlib.sha256(content).hexdigest(),
        "history": "[]",
        "split": spec.utterance.split,
    }
    return Stimulus.model_validate(common | measured)


def _earlier_turns(
    spec: StimulusSpec, settings: Mixing, library: Path | None, files: dict[str, bytes]
) -> list[dict[str, str | None]]:
    if spec.history is None:
        return []
    assert spec.voice is not None
    voice = speech.load_voice(spec.voice)
    told: list[dict[str, str | None]] = []
    for number, turn in enumerate(spec.history.turns, start=1):
        spoken = voice.synthesise(turn.said, "normal")
        scene = spec.history_scene if turn.in_scene else None
        rng = np.random.default_rng([spec.seed, 2, number])
        background = _scene(scene, _length(spoken, settings), library, rng) if scene else None
        audio = flac(_mix(spoken, background, settings.snr_db, settings, 0.0).samples, "PCM_16")
        path = f"clips/{spec.stimulus_id}.turn{number}.flac"
        files[path] = audio
        told.append(
            {
                "role": "user",
                "text": turn.said,
                "path": path,
                "sha256": hashlib.sha256(audio).hexdigest(),
                "scene": scene,
                "background_source": background.source if background else None,
                "background_licence": background.licence if background else None,
            }
        )
        told.append({"role": "assistant", "text": turn.answered})
    return told


def _background(spec: StimulusSpec, length: int, library: Path | None) -> Background | None:
    if spec.scene is None:
        return None
    scene = _scene(spec.scene, length, library, np.random.default_rng([spec.seed, 0]))
    if spec.condition is Condition.NOISE:
        rng = np.random.default_rng([spec.seed, 1])
        noise = soundscape.spectrum_matched_noise(scene.samples, length, rng)
        return Background(noise, (), scene.source, scene.licence)
    return _with_call(spec, scene) if spec.call else scene


def _scene(scene: str, length: int, library: Path | None, rng: np.random.Generator) -> Background:
    if library is not None:
        found = recorded_scene(library, scene, length, speech.SAMPLE_RATE, rng)
        if found is not None:
            return Background(found.samples, found.events, found.source, found.licence)
    made = soundscape.render(scene, length / speech.SAMPLE_RATE, speech.SAMPLE_RATE, rng)
    return Background(made.samples, made.events, "procedural", "Apache-2.0")


def _with_call(spec: StimulusSpec, scene: Background) -> Background:
    """Somebody else calls out in the lead-in, so that the words do not meet the speaker's."""
    assert spec.call is not None
    assert spec.call_voice is not None
    call = speech.load_voice(spec.call_voice).synthesise(spec.call, "normal")
    start = round(_CALL_AT_S * speech.SAMPLE_RATE)
    call = call[: len(scene.samples) - start]
    wanted_db = mixing.rms_dbfs(scene.samples) + _CALL_OVER_SCENE_DB
    gain_db = wanted_db - mixing.active_speech_level_dbfs(call, speech.SAMPLE_RATE)
    samples = scene.samples.copy()
    samples[start : start + len(call)] += call * np.float32(10 ** (gain_db / 20))
    event = soundscape.Event(f"call: {spec.call}", _CALL_AT_S, len(call) / speech.SAMPLE_RATE)
    events = sorted((*scene.events, event), key=lambda e: (e.onset_s, e.name))
    return Background(samples, tuple(events), scene.source, scene.licence)


def _length(spoken: mixing.Samples, settings: Mixing) -> int:
    return mixing.clip_length(len(spoken), speech.SAMPLE_RATE, settings.lead_in_s, settings.tail_s)


def _mix(
    spoken: mixing.Samples,
    background: Background | None,
    snr_db: float | None,
    settings: Mixing,
    energy_db: float,
) -> mixing.Mix:
    return mixing.mix(
        spoken,
        background.samples if background else None,
        sample_rate=speech.SAMPLE_RATE,
        snr_db=settings.snr_db if snr_db is None else snr_db,
        lead_in_s=settings.lead_in_s,
        tail_s=settings.tail_s,
        loudness_lufs=settings.loudness_lufs + energy_db,
        true_peak_dbfs=settings.true_peak_dbfs,
    )
