"""Other people's collections of sound into a library of recorded backgrounds."""

import hashlib
import io
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import soundfile

from aor_lib.audio.decoding import read_sound
from aor_lib.audio.recordings.collections import ListedClip, Mapping, read_collection, read_mapping
from aor_lib.audio.recordings.library import TABLE, Recording, read_table
from aor_lib.audio.sound_files import (
    ImportReport,
    Report,
    UnusableError,
    check_folders,
    contained,
    file_sha256,
    flac,
    import_each,
)
from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import one_line
from aor_lib.storage.atomic_write import atomic_write

MAX_DURATION_S = 120.0


def import_recordings(
    folder: Path, into: Path, report: Report, mapping: Path = PARAMS / "recordings.yaml"
) -> ImportReport:
    """Add a collection's usable clips to a library, with their licences and authors.

    A sound that the library has is not added again; if it came from the same place, its scenes,
    licence and author become those that ``mapping`` and the collection now state.

    Parameters
    ----------
    folder
        ESC-50, FSD50K, or a folder of sound files for each class.
    into
        The library's folder.
    report
        Called with the clips done and their number.
    mapping
        Which labels are heard in which scenes.

    Raises
    ------
    CollectionError, ParamsError, LibraryError
        If the collection's lists, the mapping or the library's table cannot be used.
    """
    fits = read_mapping(mapping)
    check_folders(folder, into)
    source, clips = read_collection(folder)
    by_name = {clip.name: clip for clip in clips}
    rows: dict[str, list[Recording]] = {}
    for row in read_table(into) if (into / TABLE).is_file() else ():
        rows.setdefault(row.original_sha256, []).append(row)
    origins = {of_clip[0].sha256: origin for origin, of_clip in rows.items()}
    (into / "clips").mkdir(parents=True, exist_ok=True)

    def take(name: str) -> None:
        path = contained(folder, name)
        origin = file_sha256(path)
        earlier = rows.get(origin)
        if earlier and (earlier[0].source, earlier[0].original) != (source, one_line(name)):
            raise UnusableError(f"is the same file as {_name(earlier)}")
        rows.pop(origin, None)
        made = _recordings(path, origin, by_name[name], source, fits, into)
        if twin := rows.get(origins.get(made[0].sha256, "")):
            raise UnusableError(f"is the same sound as {_name(twin)}")
        origins[made[0].sha256] = origin
        rows[origin] = made
        if earlier:
            raise UnusableError("is in the library already")

    done = import_each([clip.name for clip in clips], take, report)
    if rows or (into / TABLE).is_file():
        table = sorted(chain(*rows.values()), key=lambda row: (row.sha256, row.scene))
        columns = list(Recording.model_fields)
        frame = pd.DataFrame([row.model_dump() for row in table], columns=columns)
        with atomic_write(into / TABLE) as stream:
            frame.to_parquet(stream, index=False)
    return done


def _recordings(
    path: Path, origin: str, clip: ListedClip, source: str, mapping: Mapping, library: Path
) -> list[Recording]:
    label_in = mapping.scenes_with_labels(clip.labels)
    samples = read_sound(path, MAX_DURATION_S)
    # Float files and resampling can exceed 16 bit. Mixing sets a background's level anyway.
    audio = flac(samples / max(1.0, float(np.abs(samples).max())), "PCM_16")
    sha256 = hashlib.sha256(audio).hexdigest()
    file = f"clips/{sha256[:32]}.flac"
    with atomic_write(library / file) as stream:
        stream.write(audio)
    return [
        Recording(
            file=file,
            scene=scene,
            label=label,
            source=source,
            licence=clip.licence,
            author=clip.author,
            original=one_line(clip.name),
            original_sha256=origin,
            sha256=sha256,
            duration_s=soundfile.info(io.BytesIO(audio)).duration,
        )
        for scene, label in label_in.items()
    ]


def _name(recordings: list[Recording]) -> str:
    return f"{recordings[0].source}/{recordings[0].original}"
