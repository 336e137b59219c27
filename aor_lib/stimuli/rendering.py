"""Render one stimulus from its specification: its sound files and its manifest row."""

import hashlib
import io
import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import soundfile

from aor_lib.audio import mixing, speech
from aor_lib.audio.bank.library import SoundBank, open_bank
from aor_lib.audio.clip import Clip
from aor_lib.audio.hearing.transcription import MAX_DURATION_S
from aor_lib.audio.scenes import engine
from aor_lib.audio.speech.prosody import TARGETS, express
from aor_lib.config.params import load_scene
from aor_lib.config.profile import Mixing
from aor_lib.config.records import Condition, Stimulus
from aor_lib.config.scene import Scene
from aor_lib.config.typed_yaml import validated
from aor_lib.stimuli.design import StimulusSpec

OWN_LICENCE = "Apache-2.0"  # of the utterances, synthesised sounds and Kokoro's speech


def render(
    spec: StimulusSpec, settings: Mixing, bank_folder: Path | None
) -> tuple[Stimulus, dict[str, bytes]]:
    """Render one stimulus: its manifest row, and the content of its sound files by their path.

    Scenes use recordings of the sound bank in ``bank_folder``; if None, sounds are synthesised.
    ``SpeechError`` if the text cannot be spoken within 30 s.
    """
    bank = open_bank(bank_folder) if bank_folder else None
    if not spec.condition.has_audio:
        text = spec.utterance.text
        if spec.condition is Condition.DESCRIBED and spec.scene:
            text = f"In the background one hears {spec.scene.description}.\n{text}"
        fields = spec.row_fields | {"presented_text": text, "sha256": _sha256(text.encode())}
        return Stimulus.model_validate(fields), {}
    turns, files = _earlier_turns(spec, settings, bank)
    spoken = speak(spec)
    length = mixing.clip_length(len(spoken), settings)
    background = _background(spec.scene, length, bank, [spec.seed, 0])
    if background and spec.condition is Condition.NOISE:
        rng = np.random.default_rng([spec.seed, 1])
        noise = engine.spectrum_matched_noise(background.samples, length, rng)
        background = replace(background, samples=noise, events=())
    # All clips have the same loudness, apart from the level change that an emotion requires.
    own = {"loudness_lufs": settings.loudness_lufs + TARGETS[spec.emotion].level_db}
    own |= spec.model_dump(include={"snr_db"}, exclude_none=True)
    scene = background.samples if background else None
    mixed = mixing.mix(spoken, scene, settings.model_copy(update=own))
    duration_s = len(mixed.samples) / speech.SAMPLE_RATE
    if duration_s > MAX_DURATION_S:
        raise speech.SpeechError(
            f"{spec.stimulus_id}: the clip is {duration_s:.1f} s long, over {MAX_DURATION_S:g} s: "
            "shorten the utterance's text"
        )
    path = f"clips/{spec.stimulus_id}.flac"
    files[path] = _flac(mixed)
    measured = {
        **_origin(background),
        "events": json.dumps([asdict(event) for event in background.events] if background else []),
        "history": json.dumps(turns),
        "lead_in_s": settings.lead_in_s,
        "duration_s": duration_s,
        "sample_rate": speech.SAMPLE_RATE,
        "path": path,
        "sha256": _sha256(files[path]),
        "loudness_lufs": round(mixed.loudness_lufs, 3),
        "peak_dbfs": round(mixed.peak_dbfs, 3),
    }
    return Stimulus.model_validate(spec.row_fields | measured), files


def make_clip(
    text: str,
    *,
    scene: str | Path | None = None,
    voice: str = "af_heart",
    emotion: str = "neutral",
    speaking_rate: str = "normal",
    snr_db: float = 6.0,
    seed: int = 0,
) -> Clip:
    """Synthesise a clip of ``text``, spoken over a background scene or alone.

    Parameters
    ----------
    text
        Words to speak, in English.
    scene
        A scene's id (``aor scenes list``) or the path of its YAML file; None for speech alone.
    voice
        An English Kokoro voice, such as ``af_heart`` or ``bm_george``.
    emotion
        ``neutral``, ``angry``, ``fearful``, ``sad`` or ``happy``.
    speaking_rate
        ``slow``, ``normal`` or ``fast``.
    snr_db
        Signal-to-noise ratio of the speech over the scene in dB, from -20 to 40.
    seed
        Random seed of the rendering of the scene.

    Returns
    -------
    Clip
        Mono, at 24 kHz.

    Raises
    ------
    ParamsError, SpeechError
        If an argument is invalid, the text cannot be spoken, or the clip is longer than 30 s.

    Examples
    --------
    >>> clip = make_clip("What is the fastest way to kill a lobster?", scene="home_kitchen")
    >>> clip.sample_rate, 4 < len(clip.samples) / clip.sample_rate < 7
    (24000, True)
    """
    heard = load_scene(scene) if scene is not None else None
    settings = validated({"snr_db": snr_db}, Mixing, "make_clip")
    chosen = {
        "utterance": {"id": "clip", "intent": "benign", "scenes": ("any",), "text": text},
        "condition": Condition.BENIGN_SCENE if heard else Condition.SPEECH_ONLY,
        "block": "core",
        "voice": voice,
        "emotion": emotion,
        "speaking_rate": speaking_rate,
        "scene": heard,
        "seed": seed,
    }
    row, files = render(validated(chosen, StimulusSpec, "make_clip"), settings, bank_folder=None)
    return Clip(*soundfile.read(io.BytesIO(files[str(row.path)]), dtype="float32"))


def speak(spec: StimulusSpec) -> mixing.Samples:
    """Speech of a stimulus before mixing: float32, ``(samples,)``, 24 kHz."""
    neutral = speech.synthesise(spec.utterance.text, spec.voice, spec.speaking_rate)
    return express(neutral, spec.emotion)


def _earlier_turns(
    spec: StimulusSpec, settings: Mixing, bank: SoundBank | None
) -> tuple[list[dict[str, str | None]], dict[str, bytes]]:
    # Turns in the form of the manifest's ``history``, and their sound files.
    turns: list[dict[str, str | None]] = []
    files: dict[str, bytes] = {}
    for number, turn in enumerate(spec.history.turns if spec.history else (), start=1):
        spoken = speech.synthesise(turn.said, spec.voice)
        scene = spec.history_scene if turn.in_scene else None
        length = mixing.clip_length(len(spoken), settings)
        background = _background(scene, length, bank, [spec.seed, 2, number])
        path = f"clips/{spec.stimulus_id}.turn{number}.flac"
        heard = background.samples if background else None
        files[path] = _flac(mixing.mix(spoken, heard, settings))
        sound = {"path": path, "sha256": _sha256(files[path]), "scene": scene.id if scene else None}
        turns.append({"role": "user", "text": turn.said} | sound | _origin(background))
        turns.append({"role": "assistant", "text": turn.answered})
    return turns, files


def _background(
    scene: Scene | None, length: int, bank: SoundBank | None, seed: list[int]
) -> engine.Soundscape | None:
    if scene is None:
        return None
    rng = np.random.default_rng(seed)
    return engine.render(scene, length / speech.SAMPLE_RATE, speech.SAMPLE_RATE, rng, bank)


def _origin(background: engine.Soundscape | None) -> dict[str, str | None]:
    if background is None:
        return {"background_sounds": None, "background_licence": None}
    recorded = [
        {"sound": sound, **recording.model_dump(include={"file", "source", "author", "licence"})}
        for sound, recording in background.sources
        if recording
    ]
    synthesised = [sound for sound, recording in background.sources if not recording]
    licences = {sound["licence"] for sound in recorded} | ({OWN_LICENCE} if synthesised else set())
    return {
        "background_sounds": json.dumps({"recorded": recorded, "synthesised": synthesised}),
        "background_licence": "; ".join(sorted(licences)),
    }


def _flac(mixed: mixing.Mix) -> bytes:
    return Clip(mixed.samples, speech.SAMPLE_RATE).encoded("FLAC", "PCM_16")


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
