"""Other people's folders of sound: the files that they list, their labels and their licences.

ESC-50 (Piczak, 2015, https://doi.org/10.1145/2733373.2806390), FSD50K (Fonseca et al., 2022,
https://arxiv.org/abs/2010.00475), or a folder of one's own.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from aor_lib.audio.bank.labels import sound_labels
from aor_lib.audio.bank.library import ListedSound
from aor_lib.audio.sound_files import SUFFIXES, CollectionError, file_names
from aor_lib.config.typed_yaml import one_line

_ESC50_LICENCE = "ESC-50 as a whole: CC BY-NC 3.0"
_LICENCES = ("license", "licence")
_ESC50_CREDIT = re.compile(
    r"^\W*(?P<take>\d-\d+-[A-Z])[^:]*: .*\) by (?P<author>.+) \[(?P<licence>[^\]]+)\]\s*$"
)


def read_collection(folder: Path) -> dict[str, ListedSound]:
    """The sounds of a folder by their files, with empty fields for what it does not state.

    CollectionError if the folder holds no sounds or no licences, or a list of it cannot be read.
    """
    if (folder / "meta" / "esc50.csv").is_file():
        sounds = list(_esc50(folder))
    elif (folder / "FSD50K.ground_truth").is_dir():
        sounds = list(_fsd50k(folder))
    else:
        sounds = list(_own(folder))
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
    named = [path for path in sorted(folder.iterdir()) if path.stem.lower() in _LICENCES]
    of_all = next((line for path in named for line in _lines(path) if line.strip()), "")
    heard = [name for name in file_names(folder) if Path(name).suffix.lower() in SUFFIXES]
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
    return [{str(name): cell for name, cell in row.items()} for row in table.to_dict("records")]
