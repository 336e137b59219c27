"""Other people's collections of sound into the sound bank."""

import hashlib
import json
from pathlib import Path

import numpy as np

from aor_lib.audio.bank.collections import read_collection
from aor_lib.audio.bank.labels import labels_of
from aor_lib.audio.bank.library import TABLE, Recording, sound_file
from aor_lib.audio.clip import Clip
from aor_lib.audio.decoding import read_sound
from aor_lib.audio.mixing import Samples
from aor_lib.audio.sound_files import (
    ImportReport,
    UnusableError,
    check_folders,
    contained,
    import_each,
)
from aor_lib.audio.speech.voice import SAMPLE_RATE
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.progress import Report

MAX_DURATION_S = 30.0
_MIN_DURATION_S = 0.05
_INAUDIBLE_DB = -50.0


def import_sounds(folder: Path, bank: Path, report: Report) -> ImportReport:
    """Add a collection to a sound bank, in place of what an earlier import of it added.

    ``folder`` is ESC-50, FSD50K, or has ``metadata.csv`` or folders named by labels. Of a long file
    30 s are taken, from where it is first heard. CollectionError if the collection's lists cannot
    be used, or state no licence.
    """
    check_folders(folder, bank)
    listed = read_collection(folder)
    # Folders of the same name are different collections.
    place = folder.resolve()
    into = bank / f"{place.name}-{hashlib.sha256(str(place).encode()).hexdigest()[:6]}"
    rows: dict[Path, Recording] = {}

    def take(file: str) -> None:
        sound = listed[file]
        labels = labels_of(sound.labels)
        if not sound.licence:
            raise UnusableError("states no licence; write it into metadata.csv, column 'licence'")
        samples = _heard(read_sound(contained(folder, file), 2 * MAX_DURATION_S))
        # Float files and resampling can exceed 16 bit. A scene sets the level of a sound anyway.
        samples = samples / max(1.0, float(np.abs(samples).max()))
        audio = Clip(samples, SAMPLE_RATE).encoded("FLAC", "PCM_16")
        sha256 = hashlib.sha256(audio).hexdigest()
        path = sound_file(into, sha256)
        if path in rows:
            raise UnusableError(f"is the same sound as {rows[path].file}")
        with atomic_write(path) as stream:
            stream.write(audio)
        more = {"labels": labels, "sha256": sha256, "duration_s": len(samples) / SAMPLE_RATE}
        rows[path] = Recording.model_validate(sound.model_dump() | more)

    done = import_each(list(listed), take, report)
    table = [row.model_dump(mode="json") for row in rows.values()]
    with atomic_write(into / TABLE) as stream:
        stream.write(json.dumps(table, indent=1, ensure_ascii=False).encode())
    for path in {*into.glob("*.flac")} - {*rows}:
        path.unlink()
    return done


def _heard(samples: Samples) -> Samples:
    level = np.abs(samples)
    heard = np.flatnonzero(level > level.max() * 10 ** (_INAUDIBLE_DB / 20))
    samples = samples[heard[0] : heard[-1] + 1][: round(MAX_DURATION_S * SAMPLE_RATE)]
    if (duration_s := len(samples) / SAMPLE_RATE) < _MIN_DURATION_S:
        raise UnusableError(f"lasts {duration_s:.3f} s, and a sound needs {_MIN_DURATION_S} s")
    return samples
