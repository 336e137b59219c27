"""Text to speech with Kokoro-82M (Apache-2.0), on one thread for reproducible bytes.

https://huggingface.co/hexgrad/Kokoro-82M, through ONNX Runtime.
"""

import functools
import tempfile
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from aor_lib.config.typed_yaml import AorError, ParamsError, did_you_mean
from aor_lib.storage import assets
from aor_lib.storage.assets import load_or_make

SAMPLE_RATE = 24_000
"""Sample rate of all speech, and therefore of every clip, in Hz."""
RATES: dict[str, float] = {"slow": 0.8, "normal": 1.0, "fast": 1.25}
"""Speaking rates as multiples of the voice's normal rate."""


class SpeechError(AorError):
    """Error for text that cannot be spoken, or speech that cannot be changed or measured."""


def synthesise(text: str, voice: str, rate: str = "normal") -> npt.NDArray[np.float32]:
    """Speak a text: float32, ``(samples,)``, mono, 24 kHz, silence trimmed at both ends; cached.

    ``voice`` is an English Kokoro voice, such as ``af_heart`` (ParamsError if unknown), and
    ``rate`` a key of :data:`RATES`. SpeechError if the text cannot be spoken.
    """
    made_from = ["kokoro", assets.revision("kokoro"), voice, rate, text]
    stored = load_or_make("speech", made_from, lambda: {"samples": _speak(text, voice, rate)})
    return np.asarray(stored["samples"], dtype=np.float32)


def gender_of(voice: str) -> Literal["female", "male"]:
    """Gender of a voice, from the second letter of its id."""
    return "female" if voice[1:2] == "f" else "male"


def _speak(text: str, voice: str, rate: str) -> npt.NDArray[np.float32]:
    styles = {path.stem: path for path in (assets.fetch("kokoro") / "voices").glob("*.bin")}
    if voice not in styles:
        raise ParamsError(f"voices: no voice {voice!r}{did_you_mean(voice, styles)}")
    style = np.fromfile(styles[voice], dtype=np.float32).reshape(-1, 1, 256)
    # Every id begins with two letters: a(merican) or b(ritish), f(emale) or m(ale).
    language = "en-us" if voice[0] == "a" else "en-gb"
    try:
        samples, _ = _kokoro().create(text, voice=style, speed=RATES[rate], lang=language)
    except ValueError as error:  # the text contains nothing to pronounce
        raise SpeechError(f"voice {voice!r} cannot speak {text!r}: {error}") from error
    if len(samples) < SAMPLE_RATE // 10 or not np.isfinite(samples).all():
        raise SpeechError(f"voice {voice!r} produced no speech for {text!r}")
    return np.asarray(samples, dtype=np.float32)


@functools.cache
def _kokoro() -> Any:
    import onnxruntime
    from kokoro_onnx import Kokoro

    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    path = str(assets.fetch("kokoro") / "kokoro-v1.0.int8.onnx")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    # Every call passes its own style, but the class requires a file of voices.
    with tempfile.NamedTemporaryFile(suffix=".npz") as no_voices:
        np.savez(no_voices, allow_pickle=False)
        no_voices.flush()
        return Kokoro.from_session(session, no_voices.name)
