"""Voices behind an API that speaks OpenAI's text to speech (``POST /v1/audio/speech``).

Retries are the SDK's: connection errors, timeouts, 408, 409, 429 and 5xx.
"""

import io
import os

import numpy as np
import numpy.typing as npt
import openai
import soundfile
import soxr

from aor_lib.audio.speech.voice import RATES, SAMPLE_RATE, SpeechError, VoiceCard
from aor_lib.config.records import content_hash
from aor_lib.config.typed_yaml import one_line
from aor_lib.storage.assets import load_or_make

_FRAME = SAMPLE_RATE // 50
_SILENCE_DB = 60


class OpenAISpeechVoice:
    """Asks for speech over HTTP; results are kept in the user's cache, where no key is needed.

    A provider may change what speaks under a name, and may speak the same text in another way the
    next time: only what is cached is the same bytes again. The rate is asked for as ``speed``; a
    model that ignores ``speed`` (such as gpt-4o-mini-tts) speaks at one rate whatever is asked for.
    """

    def __init__(self, card: VoiceCard) -> None:
        self.id = card.id
        self._settings = card.settings
        self._base_url = card.settings.base_url or os.environ.get("OPENAI_BASE_URL")
        sound = card.settings.model_dump(exclude={"api_key_variable", "timeout_s", "max_retries"})
        self.revision = content_hash([sound, self._base_url, _FRAME, _SILENCE_DB])

    def synthesise(self, text: str, rate: str) -> npt.NDArray[np.float32]:
        """See :class:`aor_lib.audio.speech.voice.Voice`."""
        made_from = ["openai_api", self.revision, RATES[rate], text]
        stored = load_or_make("speech", made_from, lambda: {"samples": self._speak(text, rate)})
        return np.asarray(stored["samples"], dtype=np.float32)

    def _speak(self, text: str, rate: str) -> npt.NDArray[np.float32]:
        content = self._ask(text, rate)
        try:
            samples, sample_rate = soundfile.read(io.BytesIO(content), always_2d=True)
        except soundfile.LibsndfileError as error:
            raise SpeechError(
                f"voice {self.id!r}: the API answers with no wav ({error}); check base_url"
            ) from None
        if len(samples) and np.isfinite(samples).all():
            spoken = _trimmed(soxr.resample(samples.mean(axis=1), sample_rate, SAMPLE_RATE))
            if len(spoken) >= SAMPLE_RATE // 10:
                return spoken.astype(np.float32)
        raise SpeechError(f"voice {self.id!r} made no sound of {text!r}")

    def _ask(self, text: str, rate: str) -> bytes:
        variable = self._settings.api_key_variable
        key = os.environ.get(variable, "").strip() if variable else "none"
        if not key:
            raise SpeechError(f"voice {self.id!r} needs the API key in ${variable}; it is not set")
        try:
            with openai.OpenAI(
                api_key=key,
                base_url=self._base_url,
                timeout=self._settings.timeout_s,
                max_retries=self._settings.max_retries,
            ) as client:
                reply = client.audio.speech.create(
                    model=self._settings.model,
                    voice=self._settings.voice,
                    input=text,
                    response_format="wav",
                    speed=RATES[rate],
                    extra_body=self._settings.extra,
                )
        except openai.OpenAIError as error:
            what = one_line(str(error).replace(key, "[key]"), 500)
            raise SpeechError(
                f"voice {self.id!r}: {type(error).__name__}: {what}; check its settings, or try "
                "again: what was spoken until now is kept"
            ) from None
        return bytes(reply.content)


def _trimmed(samples: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Cut off the frames of 20 ms at both ends that lie 60 dB below the loudest."""
    frames = np.pad(samples, (0, -len(samples) % _FRAME)).reshape(-1, _FRAME)
    power = np.square(frames).mean(axis=1)
    audible = np.flatnonzero(power > power.max() * 10 ** (-_SILENCE_DB / 10))
    if len(audible) == 0:
        return samples[:0]
    return samples[audible[0] * _FRAME : (audible[-1] + 1) * _FRAME]
