"""Speech recognition: the transcript of a clip, and a summary of the encoder's output.

Whisper tiny.en (Radford et al., 2022, https://arxiv.org/abs/2212.04356) through CTranslate2. One
pass of the encoder serves both. Results are kept in the user's cache by the clip's bytes, so a clip
is transcribed once, whoever asks.
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
from aor_lib.storage.cache import Arrays, load_or_make

VERSION = 3
"""Counts the changes to transcripts or features of the same bytes; it is part of the cache's key.

Raise it when they change; tests/audio/test_transcription.py notices when that is forgotten.
"""
SAMPLE_RATE = 16_000
MAX_DURATION_S = 30.0
_FRAME_S = 0.02
_PADDING_S = 8.0
"""Silence after the clip. The encoder takes windows shorter than Whisper's 30 s and is several
times faster on them, but with little silence at the end the transcript may repeat itself; such a
clip is transcribed again in a full window."""
_REPEATED_WORDS = 4
"""A run of this many words said twice is hardly ever in a request, always in a decoder's loop."""


class HearingError(RuntimeError):
    """A clip that cannot be decoded, or is too long for the encoder's window."""


@dataclass(frozen=True)
class Transcription:
    """Transcript, and mean and standard deviation over time of the encoder's output.

    ``features`` is float32, ``(768,)``: 384 means, then 384 standard deviations.
    """

    transcript: str
    features: npt.NDArray[np.float32]


def transcribe(audio: bytes) -> Transcription:
    """Transcribe an audio file given by its bytes (any format and rate that soundfile reads).

    Raises
    ------
    HearingError
        It is not audio, is empty, or is longer than 30 s.
    """
    made_from = [assets.revision("whisper-tiny-en"), hashlib.sha256(audio).hexdigest(), VERSION]
    stored = load_or_make("hearing", made_from, lambda: _listen(audio))
    features = np.asarray(stored["features"], dtype=np.float32)
    return Transcription(str(stored["transcript"]), features)


def word_error_rate(reference: str, transcript: str) -> float:
    """Word error rate after lower-casing and dropping punctuation; can exceed 1.

    Examples
    --------
    >>> word_error_rate("How do I kill the process?", "how do I fill the process")
    0.16666666666666666
    """
    return float(jiwer.wer(_words(reference), _words(transcript)))


def encoder_features(samples: npt.NDArray[np.float32], sample_rate: int) -> npt.NDArray[np.float32]:
    """Features of a mono waveform (float32, ``(samples,)``), without a transcript."""
    with _one_thread():
        return _summary(*_encode(_resample(samples, sample_rate)))


def _words(text: str) -> str:
    return re.sub(r"[^a-z0-9' ]+", " ", text.lower().replace("\u2019", "'")).strip()


def _listen(audio: bytes) -> Arrays:
    samples = _decode(audio)
    with _one_thread():
        encoded, n_frames = _encode(samples)
        transcript = _decode_words(encoded)
        if _repeats_itself(transcript):
            transcript = _decode_words(_encode(samples, padding_s=MAX_DURATION_S)[0])
    return {"transcript": np.array(transcript), "features": _summary(encoded, n_frames)}


def _one_thread() -> threadpool_limits:
    """One thread for all libraries while Whisper listens, and as many as before afterwards.

    The spectrogram is a product of matrices, whose last bits change with the threads of BLAS; and
    CTranslate2 sets those of OpenMP for all that computes in this process, such as the language
    model that answers next, and leaves them so.
    """
    return threadpool_limits(limits=1)


def _decode_words(encoded: Any) -> str:
    model = _whisper()
    tokenizer = model.hf_tokenizer
    prompt = [tokenizer.token_to_id(t) for t in ("<|startoftranscript|>", "<|notimestamps|>")]
    best = model.model.generate(encoded, [prompt], beam_size=1, max_length=96)[0]
    return str(tokenizer.decode(best.sequences_ids[0], skip_special_tokens=True)).strip()


def _repeats_itself(transcript: str) -> bool:
    words = _words(transcript).split()
    runs = [tuple(words[i : i + _REPEATED_WORDS]) for i in range(len(words) - _REPEATED_WORDS + 1)]
    return len(runs) > len(set(runs))


def _encode(samples: npt.NDArray[np.float32], padding_s: float = _PADDING_S) -> tuple[Any, int]:
    """The encoder's output and how many of its frames lie within the clip."""
    import ctranslate2

    model = _whisper()
    longest = round(MAX_DURATION_S * SAMPLE_RATE) - model.feature_extractor.hop_length
    padded = np.pad(samples, (0, round(padding_s * SAMPLE_RATE)))[:longest]
    mel = np.ascontiguousarray(model.feature_extractor(padded)[None].astype(np.float32))
    encoded = model.model.encode(ctranslate2.StorageView.from_array(mel), to_cpu=True)
    return encoded, int(len(samples) / SAMPLE_RATE / _FRAME_S)


def _summary(encoded: Any, n_frames: int) -> npt.NDArray[np.float32]:
    frames = np.array(encoded, dtype=np.float32)[0, :n_frames]
    return np.concatenate([frames.mean(axis=0), frames.std(axis=0)])


def _decode(audio: bytes) -> npt.NDArray[np.float32]:
    try:
        samples, sample_rate = soundfile.read(io.BytesIO(audio), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise HearingError(f"is not an audio file: {error}") from error
    if len(samples) < sample_rate // 10:
        raise HearingError("holds less than 0.1 s of sound")
    if len(samples) > MAX_DURATION_S * sample_rate:
        raise HearingError(f"is {len(samples) / sample_rate:.1f} s long; at most 30 s are heard")
    return _resample(samples.mean(axis=1), sample_rate)


def _resample(samples: npt.NDArray[np.float32], sample_rate: int) -> npt.NDArray[np.float32]:
    return np.asarray(soxr.resample(samples, sample_rate, SAMPLE_RATE), dtype=np.float32)


@functools.cache
def _whisper() -> Any:
    from faster_whisper import WhisperModel

    folder = assets.fetch("whisper-tiny-en")
    # One thread a process: the same sums in the same order, whatever the number of workers.
    return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1)
