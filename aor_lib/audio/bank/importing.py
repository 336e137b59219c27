"""Import collections of recordings into the sound bank.

A collection is ESC-50 (Piczak, 2015, https://doi.org/10.1145/2733373.2806390), FSD50K (Fonseca et
al., 2022, https://arxiv.org/abs/2010.00475), or a folder of your own.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from aor_lib.audio import sound_files
from aor_lib.audio.bank import library
from aor_lib.audio.bank.library import ListedSound, Recording, labels_of, sound_file, sound_labels
from aor_lib.audio.clip import Clip
from aor_lib.audio.decoding import read_sound
from aor_lib.audio.mixing import Samples
from aor_lib.audio.sound_files import SUFFIXES, CollectionError, UnusableError
from aor_lib.audio.speech.voice import SAMPLE_RATE
from aor_lib.config.typed_yaml import one_line
from aor_lib.storage.atomic_write import atomic_write
from aor_lib.storage.progress import Report

MAX_DURATION_S = 30.0
_MIN_DURATION_S = 0.05
_INAUDIBLE_DB = -50.0
_ESC50_LICENCE = "ESC-50 as a whole: CC BY-NC 3.0"
_ESC50_CREDIT = re.compile(
    r"^\W*(?P<take>\d-\d+-[A-Z])[^:]*: .*\) by (?P<author>.+) \[(?P<licence>[^\]]+)\]\s*$"
)


def import_sounds(folder: Path, bank: Path, report: Report) -> sound_files.ImportReport:
    """Add a collection to a sound bank, replacing any earlier import of it.

    ``folder`` is ESC-50 or FSD50K, or has ``metadata.csv`` or folders named after labels. Long
    files are cut to 30 s, starting at the first audible sound in their first minute.
    CollectionError if the collection's lists cannot be used, or state no licence.
    """
    sound_files.check_folders(folder, bank)
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
        samples = read_sound(sound_files.contained(folder, file), 2 * MAX_DURATION_S)
        samples = _heard(samples - samples.mean(dtype=np.float64).astype(np.float32))
        # Float files and resampling can exceed full scale. A scene sets the level of a sound
        # anyway, and a DC offset must not count towards that level.
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

    done = sound_files.import_each(list(listed), take, report)
    table = [row.model_dump(mode="json") for row in rows.values()]
    with atomic_write(into / library.TABLE) as stream:
        stream.write(json.dumps(table, indent=1, ensure_ascii=False).encode())
    for path in {*into.glob("*.flac")} - {*rows}:
        path.unlink()
    return done


def _heard(samples: Samples) -> Samples:
    level = np.abs(samples)
    heard = np.flatnonzero(level > level.max() * 10 ** (_INAUDIBLE_DB / 20))
    samples = samples[heard[0] : heard[-1] + 1][: round(MAX_DURATION_S * SAMPLE_RATE)]
    if (duration_s := len(samples) / SAMPLE_RATE) < _MIN_DURATION_S:
        raise UnusableError(f"lasts {duration_s:.3f} s; the minimum is {_MIN_DURATION_S} s")
    return samples


def read_collection(folder: Path) -> dict[str, ListedSound]:
    """Sounds of a collection by file name, with empty fields for what its lists do not state.

    CollectionError if the folder has no sounds or no licences, or one of its lists is unreadable.
    """
    is_esc50 = (folder / "meta" / "esc50.csv").is_file()
    is_fsd50k = (folder / "FSD50K.ground_truth").is_dir()
    sounds = list((_esc50 if is_esc50 else _fsd50k if is_fsd50k else _own)(folder))
    if not sounds:
        raise CollectionError(
            f"{folder}: is neither ESC-50 (meta/esc50.csv) nor FSD50K (FSD50K.ground_truth/), and "
            "holds no sound files; list yours in metadata.csv (file,label,source,author,licence)"
        )
    if not any(sound.licence for sound in sounds):
        raise CollectionError(
            f"{folder}: states no licence; write one for each file into the column 'licence' of "
            "metadata.csv, or the licence of all into the first line of a file LICENSE"
        )
    return {sound.file: sound for sound in sorted(sounds, key=lambda sound: sound.file)}


def _esc50(folder: Path) -> Iterator[ListedSound]:
    matches = map(_ESC50_CREDIT.match, _lines(folder / "LICENSE"))
    credits = {match["take"]: match for match in matches if match is not None}
    for row in _rows(folder / "meta" / "esc50.csv", "filename", "category"):
        # 1-100032-A-0.wav is take A of source 100032; the number at the end is its class.
        credit = credits.get(row["filename"].rpartition("-")[0])
        yield ListedSound(
            labels=sound_labels().esc50.get(row["category"], (row["category"],)),
            file=f"audio/{row['filename']}",
            source="ESC-50",
            author=credit["author"] if credit else "",
            licence=f"{credit['licence']} ({_ESC50_LICENCE})" if credit else _ESC50_LICENCE,
        )


def _fsd50k(folder: Path) -> Iterator[ListedSound]:
    parts = [part for part in ("dev", "eval") if (folder / f"FSD50K.{part}_audio").is_dir()]
    for part in parts:
        about = folder / "FSD50K.metadata" / f"{part}_clips_info_FSD50K.json"
        try:
            info = dict(json.loads(about.read_bytes()))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            why = f"states the licences and cannot be read; fetch FSD50K.metadata ({error})"
            raise CollectionError(f"{about}: {why}") from error
        for row in _rows(folder / "FSD50K.ground_truth" / f"{part}.csv", "fname", "labels"):
            stated = info.get(row["fname"], {})
            yield ListedSound(
                labels=tuple(row["labels"].split(",")),
                file=f"FSD50K.{part}_audio/{row['fname']}.wav",
                source="FSD50K",
                author=stated.get("uploader"),
                licence=stated.get("license"),
            )


def _own(folder: Path) -> Iterator[ListedSound]:
    # A file's labels are those of its row (separated by ";"), or else the names of its folders.
    metadata = folder / "metadata.csv"
    stated = {row["file"]: row for row in _rows(metadata, "file")} if metadata.is_file() else {}
    named = [p for p in sorted(folder.iterdir()) if p.stem.lower() in ("license", "licence")]
    of_all = next((line for path in named for line in _lines(path) if line.strip()), "")
    heard = [n for n in sound_files.file_names(folder) if Path(n).suffix.lower() in SUFFIXES]
    for file in sorted({*heard, *stated}):
        row = stated.get(file, {})
        yield ListedSound(
            labels=tuple(row["label"].split(";") if row.get("label") else file.split("/")[:-1]),
            file=file,
            source=row.get("source") or folder.resolve().name,
            author=row.get("author", ""),
            licence=row.get("licence") or row.get("license") or of_all,
        )


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []


def _rows(path: Path, *needed: str) -> list[dict[str, str]]:
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding_errors="replace")
    except (OSError, ValueError) as error:
        raise CollectionError(f"{path}: cannot be read: {one_line(error)}") from error
    if lacking := [name for name in needed if name not in table]:
        raise CollectionError(f"{path}: has no column {lacking[0]!r}; add it")
    if not isinstance(table.index, pd.RangeIndex):
        raise CollectionError(f"{path}: a row has more cells than columns; quote cells with commas")
    for file in table[needed[0]][table[needed[0]].duplicated()]:
        raise CollectionError(f"{path}: {needed[0]}: {file!r} has two rows; make them one")
    return [{str(name): cell for name, cell in row.items()} for row in table.to_dict("records")]
