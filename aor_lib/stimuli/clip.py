"""A clip of one's own words, made as a study makes its clips."""

import io
from pathlib import Path

import soundfile

from aor_lib.audio.clip import Clip
from aor_lib.config.params import load_scene
from aor_lib.config.profile import Mixing
from aor_lib.config.records import Condition, Intent, Utterance
from aor_lib.config.typed_yaml import validated
from aor_lib.stimuli.design import StimulusSpec
from aor_lib.stimuli.rendering import render


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
    """Make a clip of somebody who says ``text``, over a background scene or alone.

    It has the loudness, the lead-in and the bytes of a study's clip of the same words.

    Parameters
    ----------
    text
        What is said, in English.
    scene
        A scene's id (``aor scenes list``) or the path of its YAML file; None for speech alone.
    voice
        An English Kokoro voice, such as ``af_heart`` or ``bm_george``.
    emotion
        ``neutral``, ``angry``, ``fearful``, ``sad`` or ``happy``.
    speaking_rate
        ``slow``, ``normal`` or ``fast``.
    snr_db
        Level of the speech above that of the scene, in dB, -20 to 40.
    seed
        Another seed is another rendering of the scene.

    Returns
    -------
    Clip
        Mono, at 24 kHz.

    Raises
    ------
    ParamsError
        If an argument has no valid value.
    SpeechError
        If the text cannot be spoken, or the clip would be longer than 30 s.

    Examples
    --------
    >>> clip = make_clip("What is the fastest way to kill a lobster?", scene="home_kitchen")
    >>> clip.sample_rate, 4 < len(clip.samples) / clip.sample_rate < 7
    (24000, True)
    """
    heard = load_scene(scene) if scene is not None else None
    settings = validated({"snr_db": snr_db}, Mixing, "make_clip")
    about = {"id": "clip", "scenario": "own", "intent": Intent.BENIGN, "scenes": ("any",)}
    chosen = {
        "utterance": validated({**about, "text": text}, Utterance, "make_clip"),
        "condition": Condition.BENIGN_SCENE if heard else Condition.SPEECH_ONLY,
        "block": "core",
        "voice": voice,
        "emotion": emotion,
        "speaking_rate": speaking_rate,
        "scene": heard,
        "seed": seed,
    }
    made = render(validated(chosen, StimulusSpec, "make_clip"), settings, library=None)
    samples, sample_rate = soundfile.read(
        io.BytesIO(made.files[str(made.row.path)]), dtype="float32"
    )
    return Clip(samples, sample_rate)
