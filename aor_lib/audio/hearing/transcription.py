"""Speech recognition, with a summary of the encoder's output and a spectrogram from the same pass.

Whisper tiny.en (Radford et al., 2022, https://arxiv.org/abs/2212.04356) through CTranslate2.
Results are stored in the user's cache under a hash of the clip's bytes.
"""

from __future__ import annotations

import functools
import hashlib
import io
import re
from dataclasses import dataclass
from typing import Any

import jiwer
import numpy as np
import numpy.typing as npt
import soundfile
import soxr
from threadpoolctl import threadpool_limits

from aor_lib.storage import assets
from aor_lib.storage.assets import Arrays, load_or_make

VERSION = 5  # part of the cache key; raise it when the same bytes give other results
Features = npt.NDArray[np.float32]
Spectrogram = npt.NDArray[np.float16]

SAMPLE_RATE = 16_000
MAX_DURATION_S = 30.0  # longest clip: Whisper's window, the shortest of all models'
BANDS = 80
ENCODED = 768
_FRAME_S = 0.02  # one frame of the encoder's output, or two of the spectrogram
_PADDING_S = 8.0
"""Silence appended to the clip. The encoder accepts windows shorter than Whisper's 30 s and is
several times faster on them, but with little silence at the end the transcript may repeat itself;
such a clip is transcribed again in a full window."""
_REPEATED_WORDS = 4  # a run of this length that recurs is almost always a decoding loop


class HearingError(RuntimeError):
    """Error for a clip that cannot be decoded, or is too short or too long."""


@dataclass(frozen=True)
class Transcription:
    """Transcript of a clip, with features of its sound.

    ``encoded``, float32, ``(ENCODED,)``, is the mean and the standard deviation over time of the
    encoder's output, which retains the speech. ``spectrogram`` is the encoder's input, the log-mel
    spectrogram, averaged to one frame every 20 ms: float16, ``(frames, BANDS)``.
    """

    transcript: str
    encoded: Features
    spectrogram: Spectrogram


def transcribe(audio: bytes) -> Transcription:
    """Transcribe the bytes of an audio file, of any format and sample rate that soundfile reads.

    HearingError if the audio is unreadable, not finite, shorter than 0.1 s, or longer than 30 s.
    """
    made_from = [assets.revision("whisper-tiny-en"), hashlib.sha256(audio).hexdigest(), VERSION]
    stored = load_or_make("hearing", made_from, lambda: _found(audio))
    encoded = np.asarray(stored["encoded"], np.float32)
    spectrogram = np.asarray(stored["spectrogram"], np.float16)
    return Transcription(str(stored["transcript"]), encoded, spectrogram)


def word_error_rate(reference: str, transcript: str) -> float:
    """Word error rate after lower-casing and removing punctuation; can exceed 1."""
    return float(jiwer.wer(_words(reference), _words(transcript)))


def listen(samples: npt.NDArray[np.float32], sample_rate: int) -> tuple[Features, Spectrogram]:
    """``encoded`` and ``spectrogram`` of a mono waveform, float32, ``(samples,)``."""
    with one_thread():
        return _listen(_resample(samples, sample_rate))[1:]


def one_thread() -> threadpool_limits:
    """Limit all libraries to one thread while Whisper runs, and restore the limits afterwards."""
    # The spectrogram is a matrix product, whose last bits depend on the number of BLAS threads; and
    # CTranslate2 sets the number of OpenMP threads for the whole process, including the language
    # model that answers next, and does not restore it.
    return threadpool_limits(limits=1)


def _found(audio: bytes) -> Arrays:
    try:
        samples, sample_rate = soundfile.read(io.BytesIO(audio), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise HearingError(f"is not an audio file: {error}") from error
    if not sample_rate // 10 <= len(samples) <= MAX_DURATION_S * sample_rate:
        raise HearingError(f"lasts {len(samples) / sample_rate:.1f} s; clips must last 0.1 to 30 s")
    if not np.isfinite(samples).all():
        raise HearingError("has samples that are not finite")
    mono = _resample(samples.mean(axis=1), sample_rate)
    with one_thread():
        encoder_output, encoded, spectrogram = _listen(mono)
        transcript = _decode(encoder_output)
        words = _words(transcript).split()
        runs = [tuple(words[i:][:_REPEATED_WORDS]) for i in range(len(words) - _REPEATED_WORDS + 1)]
        if len(set(runs)) < len(runs):
            transcript = _decode(_encode(_mel(mono, padding_s=MAX_DURATION_S)))
    return {"transcript": np.array(transcript), "encoded": encoded, "spectrogram": spectrogram}


def _listen(samples: npt.NDArray[np.float32]) -> tuple[Any, Features, Spectrogram]:
    mel = _mel(samples)
    encoder_output = _encode(mel)
    count = int(len(samples) / SAMPLE_RATE / _FRAME_S)
    frames = np.array(encoder_output, dtype=np.float32)[0, :count]
    encoded = np.concatenate([frames.mean(0), frames.std(0)], dtype=np.float32)
    halved = mel[:, : 2 * count].T.reshape(count, 2, BANDS).mean(axis=1)
    return encoder_output, encoded, np.asarray(halved, np.float16)


def _mel(samples: npt.NDArray[np.float32], padding_s: float = _PADDING_S) -> Features:
    """Whisper's spectrogram with silence appended, ``(BANDS, frames)``, one frame per 10 ms."""
    extractor = _whisper().feature_extractor
    longest = round(MAX_DURATION_S * SAMPLE_RATE) - extractor.hop_length
    padded = np.pad(samples, (0, round(padding_s * SAMPLE_RATE)))[:longest]
    return np.ascontiguousarray(extractor(padded).astype(np.float32))


def _encode(mel: Features) -> Any:
    import ctranslate2

    return _whisper().model.encode(ctranslate2.StorageView.from_array(mel[None]), to_cpu=True)


def _decode(encoder_output: Any) -> str:
    model = _whisper()
    tokenizer = model.hf_tokenizer
    prompt = [tokenizer.token_to_id(t) for t in ("<|startoftranscript|>", "<|notimestamps|>")]
    best = model.model.generate(encoder_output, [prompt], beam_size=1, max_length=96)[0]
    return str(tokenizer.decode(best.sequences_ids[0], skip_special_tokens=True)).strip()


def _words(text: str) -> str:
    return re.sub(r"[^a-z0-9' ]+", " ", text.lower().replace("\u2019", "'")).strip()


def _resample(samples: npt.NDArray[np.float32], sample_rate: int) -> npt.NDArray[np.float32]:
    return np.asarray(soxr.resample(samples, sample_rate, SAMPLE_RATE), dtype=np.float32)


@functools.cache
def _whisper() -> Any:
    from faster_whisper import WhisperModel

    folder = assets.fetch("whisper-tiny-en")
    # One thread per process, so that the order of sums does not depend on the number of workers.
    return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1)
