"""Voices behind an API that speaks OpenAI's text to speech (``POST /v1/audio/speech``).

Retries are the SDK's: connection errors, timeouts, 408, 409, 429 and 5xx.
"""

import io
import os
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import openai
import soundfile
import soxr
from pydantic import Field

from aor_lib.audio.speech.voice import RATES, SAMPLE_RATE, SpeechError, VoiceCard
from aor_lib.config.records import content_hash
from aor_lib.config.typed_yaml import Params, one_line, validated
from aor_lib.storage.assets import load_or_make

_FRAME = SAMPLE_RATE // 50
_SILENCE_DB = 60


class SpeechSettings(Params):
    """Settings of a voice behind an API in its card. Keys are never among them."""

    model: str
    voice: str = Field(description="The speaker's name with the provider.")
    base_url: str | None = Field(default=None, description="None: the SDK's default.")
    base_url_variable: str | None = Field(
        default=None, description="Environment variable that holds the address, if base_url is None"
    )
    api_key_variable: str | None = Field(
        default="OPENAI_API_KEY", description="None where the server asks for no key."
    )
    response_format: Literal["wav", "pcm"] = "wav"
    pcm_sample_rate_hz: Annotated[int, Field(ge=8000)] = Field(
        default=24_000, description="Of pcm (16 bit, little endian, mono), which does not say it."
    )
    extra: dict[str, Any] = Field(
        default_factory=dict, description="Further fields of every request."
    )
    timeout_s: Annotated[float, Field(gt=0)] = 120
    max_retries: Annotated[int, Field(ge=0)] = 4


class OpenAISpeechVoice:
    """Asks for speech over HTTP; results are kept in the user's cache, where no key is needed.

    A provider may change what speaks under a name, and may speak the same text in another way the
    next time: only what is cached is the same bytes again. The rate is asked for as ``speed``; a
    model that ignores ``speed`` (such as gpt-4o-mini-tts) speaks at one rate whatever is asked for.
    """

    def __init__(self, card: VoiceCard) -> None:
        settings = validated(card.settings, SpeechSettings, f"voice {card.id}: settings")
        self.id = card.id
        self._settings = settings
        self._base_url = settings.base_url or os.environ.get("OPENAI_BASE_URL")
        if settings.base_url is None and settings.base_url_variable:
            self._base_url = self._from_environment(
                settings.base_url_variable, "the address of its API"
            )
        how_it_is_reached = {"base_url_variable", "api_key_variable", "timeout_s", "max_retries"}
        sound = settings.model_dump(exclude=how_it_is_reached) | {"base_url": self._base_url}
        self.revision = content_hash([sound, _FRAME, _SILENCE_DB])

    def synthesise(self, text: str, rate: str) -> npt.NDArray[np.float32]:
        """See :class:`aor_lib.audio.speech.voice.Voice`."""
        made_from = ["openai_api", self.revision, RATES[rate], text]
        stored = load_or_make("speech", made_from, lambda: {"samples": self._speak(text, rate)})
        return np.asarray(stored["samples"], dtype=np.float32)

    def _speak(self, text: str, rate: str) -> npt.NDArray[np.float32]:
        samples, sample_rate = self._decoded(self._ask(text, rate))
        if len(samples) and np.isfinite(samples).all():
            spoken = _trimmed(np.asarray(soxr.resample(samples, sample_rate, SAMPLE_RATE)))
            if len(spoken) >= SAMPLE_RATE // 10:
                return spoken.astype(np.float32)
        raise SpeechError(f"voice {self.id!r} made no sound of {text!r}")

    def _ask(self, text: str, rate: str) -> bytes:
        variable = self._settings.api_key_variable
        key = self._from_environment(variable, "the API key") if variable else "none"
        if not (key.isascii() and key.isprintable()):
            # An HTTP client would quote it in its complaint.
            raise SpeechError(
                f"voice {self.id!r} needs the API key in ${variable}; "
                "what is set there has characters that no key has"
            )
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
                    response_format=self._settings.response_format,
                    speed=RATES[rate],
                    extra_body=self._settings.extra,
                )
        except openai.AuthenticationError:
            wanted = f"refuses the key in ${variable}" if variable else "asks for a key"
            raise SpeechError(
                f"voice {self.id!r}: the API {wanted}; set api_key_variable, or the key in it"
            ) from None
        except openai.OpenAIError as error:
            what = one_line(str(error).replace(key, "[key]"), 500)
            raise SpeechError(
                f"voice {self.id!r}: {type(error).__name__}: {what}; check its settings, or try "
                "again: what was spoken until now is kept"
            ) from None
        kind = reply.response.headers.get("content-type", "").split(";")[0]
        if kind == "application/json" or kind.startswith("text/"):
            raise SpeechError(
                f"voice {self.id!r}: the API answers with {kind}, not with sound; check base_url"
            )
        return bytes(reply.content)

    def _decoded(self, content: bytes) -> tuple[npt.NDArray[np.float64], int]:
        """Mono samples, ``(samples,)``, and their rate."""
        if self._settings.response_format == "pcm":
            if len(content) % 2:
                raise SpeechError(f"voice {self.id!r}: the API answers with no 16-bit pcm; try wav")
            return np.frombuffer(content, "<i2") / 2**15, self._settings.pcm_sample_rate_hz
        try:
            samples, sample_rate = soundfile.read(io.BytesIO(content), always_2d=True)
        except soundfile.LibsndfileError as error:
            raise SpeechError(
                f"voice {self.id!r}: the API answers with no wav ({error}); try pcm"
            ) from None
        return samples.mean(axis=1), sample_rate

    def _from_environment(self, variable: str, what: str) -> str:
        value = os.environ.get(variable, "").strip()
        if not value:
            raise SpeechError(f"voice {self.id!r} needs {what} in ${variable}; it is not set")
        return value


def _trimmed(samples: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Cut off the frames of 20 ms at both ends that lie 60 dB below the loudest."""
    frames = np.pad(samples, (0, -len(samples) % _FRAME)).reshape(-1, _FRAME)
    power = np.square(frames).mean(axis=1)
    audible = np.flatnonzero(power > power.max() * 10 ** (-_SILENCE_DB / 10))
    if len(audible) == 0:
        return samples[:0]
    return samples[audible[0] * _FRAME : (audible[-1] + 1) * _FRAME]
