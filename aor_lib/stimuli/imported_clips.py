"""Import a folder of finished, unlabelled clips, such as AOR-Bench's sample, as a study."""

import hashlib
import math
import re
from pathlib import Path

from filelock import FileLock

from aor_lib.audio import mixing, sound_files
from aor_lib.audio.clip import Clip
from aor_lib.audio.decoding import read_sound
from aor_lib.audio.hearing.transcription import MAX_DURATION_S, HearingError, transcribe
from aor_lib.audio.sound_files import CollectionError, UnusableError
from aor_lib.audio.speech.voice import SAMPLE_RATE
from aor_lib.config.records import Condition, Intent, Stimulus, split_of
from aor_lib.stimuli.manifest import MANIFEST, load_stimuli, write_manifest
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.progress import Report

_MIN_DURATION_S = 0.5


def import_clips(folder: Path, build: Path, report: Report) -> sound_files.ImportReport:
    """Make a study from a folder of clips: one stimulus each, with Whisper's transcript as text.

    Clips are converted to mono FLAC (24 kHz, 24 bit) and keep their level; those above full scale
    are scaled down to it. Repeated sounds are skipped, and clips already in ``build`` are kept. The
    folder may have subfolders and links to files, as the cache of the hub's client does.
    """
    sound_files.check_folders(folder, build)
    there = load_stimuli(build) if (build / MANIFEST).is_file() else []
    if any(row.block != "imported" for row in there):
        raise CollectionError(f"{build}: holds another study; name another folder for the clips")
    rows = dict[str, Stimulus]()
    names = {row.sha256: row.stimulus_id for row in there}

    def take(file: str) -> None:
        samples = read_sound(folder / file, MAX_DURATION_S + 1)
        if not _MIN_DURATION_S <= (seconds := len(samples) / SAMPLE_RATE) <= MAX_DURATION_S:
            lasts = f"{seconds:.2f} s" if seconds <= MAX_DURATION_S else "longer"
            raise UnusableError(
                f"must last {_MIN_DURATION_S} to {MAX_DURATION_S:g} s, but lasts {lasts}: cut it"
            )
        samples /= max(1.0, float(abs(samples).max()))
        audio = Clip(samples, SAMPLE_RATE).encoded("FLAC", "PCM_24")
        slug = re.sub(r"[^a-z0-9]+", "-", file.rpartition(".")[0].lower()).strip("-")[:80]
        name = f"{slug or 'clip'}-{hashlib.sha256((folder / file).read_bytes()).hexdigest()[:8]}"
        first = names.setdefault(hashlib.sha256(audio).hexdigest(), name)
        if first != name:
            raise UnusableError(f"is the same sound as {first}")
        rows[name] = _import_clip(name, samples, audio, build)

    done = sound_files.import_each(list(sound_files.file_names(folder)), take, report)
    if rows:
        with FileLock(build.parent / f".{build.name}.lock"):  # another process may import, too
            there = load_stimuli(build) if (build / MANIFEST).is_file() else []
            rows = {row.stimulus_id: row for row in there} | rows
            write_manifest(rows.values(), build)
    return done


def _import_clip(name: str, samples: mixing.Samples, audio: bytes, build: Path) -> Stimulus:
    try:
        transcription = transcribe(audio)
    except HearingError as error:
        raise UnusableError(str(error)) from error
    with atomic_write(build / "clips" / f"{name}.flac") as stream:
        stream.write(audio)
    loudness_lufs = mixing.loudness(samples, SAMPLE_RATE)
    return Stimulus(
        stimulus_id=name,
        utterance_id=name,
        scenario="imported",
        intent=Intent.UNLABELLED,
        text=transcription.transcript,
        duration_s=len(samples) / SAMPLE_RATE,
        sample_rate=SAMPLE_RATE,
        seed=0,
        block="imported",
        condition=Condition.AS_FOUND,
        path=f"clips/{name}.flac",
        sha256=hashlib.sha256(audio).hexdigest(),
        # Loudness is undefined below the standard's gate.
        loudness_lufs=round(loudness_lufs, 3) if math.isfinite(loudness_lufs) else None,
        peak_dbfs=round(mixing.true_peak(samples), 3),
        split=split_of(name),
    )
