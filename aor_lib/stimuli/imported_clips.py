"""A folder of finished clips as a study.

:func:`import_clips` takes clips that nobody has labelled, say the public sample of a benchmark, and
writes the manifest that models are run on.
"""

import hashlib
import io
import math
import re
from pathlib import Path

import pandas as pd
import soundfile

from aor_lib.audio import mixing
from aor_lib.audio.hearing.transcription import MAX_DURATION_S, HearingError, transcribe
from aor_lib.audio.sound_files import (
    CollectionError,
    ImportReport,
    Report,
    UnusableError,
    check_folders,
    contained,
    file_names,
    flac,
    import_each,
    read_sound,
)
from aor_lib.audio.speech.voice import SAMPLE_RATE
from aor_lib.config.records import Condition, Intent, Stimulus, split_of
from aor_lib.config.typed_yaml import one_line
from aor_lib.stimuli.manifest import MANIFEST, write_manifest
from aor_lib.storage.atomic_write import atomic_write


def import_clips(folder: Path, build: Path, report: Report) -> ImportReport:
    """Make a study of a folder of clips; each is one stimulus, as it was found.

    Clips keep their level. Mono FLAC at 24 kHz is copied, all else becomes that, at 24 bit. The
    text of a stimulus is Whisper's transcript. A sound that is there twice is imported once.
    """
    check_folders(folder, build)
    manifest = build / MANIFEST
    if manifest.is_file() and _blocks(manifest) != {"imported"}:
        raise CollectionError(f"{build}: holds another study; name another folder for the clips")
    (build / "clips").mkdir(parents=True, exist_ok=True)
    rows: list[Stimulus] = []
    origins: dict[bytes, str] = {}

    def take(name: str) -> None:
        path = contained(folder, name)
        samples = read_sound(path, MAX_DURATION_S)
        first = origins.setdefault(hashlib.sha256(samples.tobytes()).digest(), name)
        if first != name:
            raise UnusableError(f"is the same sound as {one_line(first)}")
        rows.append(_import_clip(path, samples, build))

    done = import_each(list(file_names(folder)), take, report)
    if rows:
        write_manifest(rows, build)
    return done


def _blocks(manifest: Path) -> set[str]:
    try:
        return set(pd.read_parquet(manifest, columns=["block"])["block"])
    except (OSError, ValueError) as error:
        raise CollectionError(f"{manifest}: cannot be read; remove it ({error})") from error


def _import_clip(path: Path, samples: mixing.Samples, build: Path) -> Stimulus:
    original = path.read_bytes()
    info = soundfile.info(io.BytesIO(original))
    is_ready = (info.format, info.channels, info.samplerate) == ("FLAC", 1, SAMPLE_RATE)
    audio = original if is_ready else flac(samples, "PCM_24")
    try:
        transcription = transcribe(audio)
    except HearingError as error:
        raise UnusableError(str(error)) from error
    slug = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:80]
    name = f"{slug or 'clip'}-{hashlib.sha256(original).hexdigest()[:8]}"
    with atomic_write(build / "clips" / f"{name}.flac") as stream:
        stream.write(audio)
    loudness_lufs = mixing.loudness(samples, SAMPLE_RATE)
    return Stimulus.model_validate(
        dict.fromkeys(Stimulus.model_fields)
        | {
            "stimulus_id": name,
            "utterance_id": name,
            "scenario": "imported",
            "intent": Intent.UNLABELLED,
            "text": transcription.transcript,
            "events": "[]",
            "history": "[]",
            "duration_s": len(samples) / SAMPLE_RATE,
            "sample_rate": SAMPLE_RATE,
            "seed": 0,
            "block": "imported",
            "condition": Condition.AS_FOUND,
            "path": f"clips/{name}.flac",
            "sha256": hashlib.sha256(audio).hexdigest(),
            # Below the standard's gate there is no loudness.
            "loudness_lufs": round(loudness_lufs, 3) if math.isfinite(loudness_lufs) else None,
            "peak_dbfs": round(mixing.true_peak(samples), 3),
            "split": split_of(name),
        }
    )
