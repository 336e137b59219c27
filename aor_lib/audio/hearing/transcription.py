"""Speech recognition, with a summary of the encoder's output and a spectrogram from the same pass.

Whisper tiny.en (Radford et al., 2022, https://arxiv.org/abs/2212.04356) through CTranslate2.
Results are kept in the user's cache by the clip's bytes.
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

VERSION = 5  # raise it when other things are found in the same bytes; part of the cache's key
Features = npt.NDArray[np.float32]
Spectrogram = npt.NDArray[np.float16]

SAMPLE_RATE = 16_000
MAX_DURATION_S = 30.0  # the longest clip: the window of Whisper, the shortest of the models'
BANDS = 80
ENCODED = 768
_FRAME_S = 0.02  # a frame of the encoder's output, or two of its spectrogram
_PADDING_S = 8.0
"""Silence after the clip. The encoder takes windows shorter than Whisper's 30 s and is several
times faster on them, but with little silence at the end the transcript may repeat itself; such a
clip is transcribed again in a full window."""
_REPEATED_WORDS = 4  # a run of these said twice is a decoder's loop, hardly ever a request


class HearingError(RuntimeError):
    """A clip that cannot be decoded, or is too long for the encoder's window."""


@dataclass(frozen=True)
class Transcription:
    """Transcript, and what was heard beside the words.

    ``encoded``, float32, ``(ENCODED,)``, is the mean and the standard deviation over time of the
    encoder's output, which keeps what is speech. ``spectrogram`` is what it was made from: the
    logarithmic mel spectrogram, float16, ``(frames, BANDS)``, every 20 ms.
    """

    transcript: str
    encoded: Features
    spectrogram: Spectrogram


def transcribe(audio: bytes) -> Transcription:
    """Transcribe an audio file given by its bytes (any format and rate that soundfile reads).

    HearingError if it is not audio, is empty, or is longer than 30 s.
    """
    made_from = [assets.revision("whisper-tiny-en"), hashlib.sha256(audio).hexdigest(), VERSION]
    stored = load_or_make("hearing", made_from, lambda: _found(audio))
    encoded = np.asarray(stored["encoded"], np.float32)
    spectrogram = np.asarray(stored["spectrogram"], np.float16)
    return Transcription(str(stored["transcript"]), encoded, spectrogram)


def word_error_rate(reference: str, transcript: str) -> float:
    """Word error rate after lower-casing and dropping punctuation; can exceed 1."""
    return float(jiwer.wer(_words(reference), _words(transcript)))


def listen(samples: npt.NDArray[np.float32], sample_rate: int) -> tuple[Features, Spectrogram]:
    """``encoded`` and ``spectrogram`` of a mono waveform, float32, ``(samples,)``."""
    with one_thread():
        return _listen(_resample(samples, sample_rate))[1:]


def one_thread() -> threadpool_limits:
    """One thread for all libraries while Whisper listens, and as many as before afterwards."""
    # The spectrogram is a product of matrices, whose last bits change with the threads of BLAS; and
    # CTranslate2 sets those of OpenMP for all that computes in this process, such as the language
    # model that answers next, and leaves them so.
    return threadpool_limits(limits=1)


def _found(audio: bytes) -> Arrays:
    try:
        samples, sample_rate = soundfile.read(io.BytesIO(audio), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise HearingError(f"is not an audio file: {error}") from error
    if not sample_rate // 10 <= len(samples) <= MAX_DURATION_S * sample_rate:
        raise HearingError(f"lasts {len(samples) / sample_rate:.1f} s; 0.1 to 30 s are heard")
    if not np.isfinite(samples).all():
        raise HearingError("has samples that are no numbers")
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
    """Whisper's spectrogram with silence after it, ``(BANDS, frames)``, a frame every 10 ms."""
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
    # One thread a process: the same sums in the same order, whatever the number of workers.
    return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1)
