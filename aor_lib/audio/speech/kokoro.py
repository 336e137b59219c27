"""The Kokoro voices.

Kokoro-82M (https://huggingface.co/hexgrad/Kokoro-82M, Apache-2.0) runs through ONNX Runtime on one
thread, which makes its samples the same bytes whatever the number of workers.
"""

import functools
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from aor_lib.audio.speech.voice import RATES, SAMPLE_RATE, SpeechError
from aor_lib.storage import assets
from aor_lib.storage.assets import load_or_make


class KokoroVoice:
    """A voice of Kokoro, by its id (``af_heart``); results are kept in the user's cache."""

    def __init__(self, voice_id: str) -> None:
        self.id = voice_id
        self.revision = assets.revision("kokoro")
        # Two letters lead every id: a(merican) or b(ritish), f(emale) or m(ale).
        self._language = "en-us" if voice_id[0] == "a" else "en-gb"

    def synthesise(self, text: str, rate: str) -> npt.NDArray[np.float32]:
        """See :class:`aor_lib.audio.speech.voice.Voice`."""
        made_from = ["kokoro", self.revision, self.id, rate, text]
        samples = load_or_make("speech", made_from, lambda: {"samples": self._speak(text, rate)})
        return np.asarray(samples["samples"], dtype=np.float32)

    def _speak(self, text: str, rate: str) -> npt.NDArray[np.float32]:
        style = np.fromfile(assets.fetch("kokoro") / f"voices/{self.id}.bin", dtype=np.float32)
        try:
            samples, _ = _kokoro().create(
                text, voice=style.reshape(-1, 1, 256), speed=RATES[rate], lang=self._language
            )
        except ValueError as error:  # nothing in the text can be said
            raise SpeechError(f"voice {self.id!r} cannot say {text!r}: {error}") from error
        if len(samples) < SAMPLE_RATE // 10 or not np.isfinite(samples).all():
            raise SpeechError(f"voice {self.id!r} made no sound of {text!r}")
        return np.asarray(samples, dtype=np.float32)


@functools.cache
def _kokoro() -> Any:
    import onnxruntime
    from kokoro_onnx import Kokoro

    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    folder = assets.fetch("kokoro")
    session = onnxruntime.InferenceSession(
        str(folder / "kokoro-v1.0.int8.onnx"), options, providers=["CPUExecutionProvider"]
    )
    # Every call passes its own style, but the class insists on a file of voices.
    with tempfile.NamedTemporaryFile(suffix=".npz") as no_voices:
        np.savez(no_voices, allow_pickle=False)
        no_voices.flush()
        return Kokoro.from_session(session, no_voices.name)
