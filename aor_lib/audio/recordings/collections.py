"""Other people's folders of sound: the clips that they list, their labels, licences and scenes.

Three layouts are known, and found by looking: ESC-50 (Piczak, 2015,
https://doi.org/10.1145/2733373.2806390), FSD50K (Fonseca et al., 2022,
https://arxiv.org/abs/2010.00475), and a folder of sound files for each class.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aor_lib.audio.sound_files import SUFFIXES, CollectionError, UnusableError, file_names, one_line
from aor_lib.config.params import load_scenarios
from aor_lib.config.records import Identifier
from aor_lib.config.typed_yaml import Params, ParamsError, nearest, read

UNKNOWN = "unknown"
"""A licence or an author that the collection does not state."""


_ESC50_LICENCE = "ESC-50 as a whole: CC BY-NC 3.0"
_ESC50_CREDIT = re.compile(
    r"^\W*(?P<take>\d-\d+-[A-Z])[^:]*: .*\) by (?P<author>.+) \[(?P<licence>[^\]]+)\]\s*$"
)


@dataclass(frozen=True)
class ListedClip:
    """A clip that a collection speaks of; :func:`aor_lib.stimuli.imported_clips.contained` tells if
    it is there."""

    name: str
    labels: tuple[str, ...]
    licence: str = UNKNOWN
    author: str = UNKNOWN


@dataclass(frozen=True)
class SoundCollection:
    """A collection's name and its clips, sorted by name."""

    source: str
    clips: tuple[ListedClip, ...]


class Mapping(Params):
    """In which scenes a collection's labels may be heard (params/recordings.yaml).

    Case, spaces and punctuation of labels do not matter. A scene's id is a label for that scene.
    """

    labels: dict[str, tuple[Identifier, ...]]
    excluded: tuple[str, ...]

    def scenes_with_labels(self, labels: Sequence[str]) -> dict[str, str]:
        """The scenes for a clip with these labels, each with the first label that fits it.

        Raises
        ------
        UnusableError
            There is none, or a label is excluded.
        """
        if not labels:
            raise UnusableError("has no label")
        for label in labels:
            if _plain(label) in self.excluded:
                raise UnusableError(f"is labelled {label!r}, which the mapping excludes")
        found: dict[str, str] = {}
        for label in labels:
            for scene in self.labels.get(_plain(label), ()):
                found.setdefault(scene, label)
        if not found:
            raise UnusableError(f"has no scene: the mapping lacks {', '.join(labels)}")
        return found


def read_mapping(path: Path) -> Mapping:
    """Read params/recordings.yaml or a file like it.

    Raises
    ------
    ParamsError
        It cannot be used, or names a scene that no scenario has; one line says where and why.
    """
    written = read(path, Mapping)
    known = [scene.id for scenario in load_scenarios().values() for scene in scenario.scenes]
    labels: dict[str, tuple[str, ...]] = {scene: (scene,) for scene in known}
    for label, scenes in written.labels.items():
        for scene in scenes:
            if scene not in known:
                raise ParamsError(
                    f"{path}: labels.{label}: unknown scene {scene!r}{nearest(scene, known)}"
                )
        if (plain := _plain(label)) in labels:
            raise ParamsError(f"{path}: labels.{label}: appears twice, or is a scene's id")
        labels[plain] = scenes
    return Mapping(labels=labels, excluded=tuple(map(_plain, written.excluded)))


def read_collection(folder: Path) -> SoundCollection:
    """Find a folder's layout and list its clips.

    Raises
    ------
    CollectionError
        It is no folder, has none of the layouts, or its lists cannot be read.
    """
    if not folder.is_dir():
        raise CollectionError(f"{folder}: is not a folder")
    if (folder / "meta" / "esc50.csv").is_file():
        source, clips = "ESC-50", _esc50(folder)
    elif (folder / "FSD50K.ground_truth").is_dir():
        source, clips = "FSD50K", _fsd50k(folder)
    else:
        source, clips = one_line(folder.resolve().name), _classes(folder)
    return SoundCollection(source, tuple(sorted(clips, key=lambda clip: clip.name)))


def _esc50(folder: Path) -> list[ListedClip]:
    """The clips of meta/esc50.csv. Their licences and authors are lines of LICENSE."""
    matches = map(_ESC50_CREDIT.match, _lines(folder / "LICENSE"))
    credit = {found["take"]: found for found in matches if found is not None}
    clips = []
    for row in _rows(folder / "meta" / "esc50.csv", "filename", "category"):
        licence, author = _ESC50_LICENCE, UNKNOWN
        # 1-100032-A-0.wav is take A of source 100032; the number at the end is its class.
        if (found := credit.get(row["filename"].rpartition("-")[0])) is not None:
            licence = f"{one_line(found['licence'])} ({licence})"
            author = one_line(found["author"])
        name = f"audio/{row['filename']}"
        clips.append(ListedClip(name, _labels(row["category"]), licence, author))
    return clips


def _fsd50k(folder: Path) -> list[ListedClip]:
    clips = []
    lists = sorted((folder / "FSD50K.ground_truth").glob("[de]*.csv"))
    for path in (path for path in lists if path.stem in ("dev", "eval")):
        info = _json(folder / "FSD50K.metadata" / f"{path.stem}_clips_info_FSD50K.json")
        for row in _rows(path, "fname", "labels"):
            about = info.get(row["fname"])
            stated = about if isinstance(about, dict) else {}
            clips.append(
                ListedClip(
                    f"FSD50K.{path.stem}_audio/{row['fname']}.wav",
                    _labels(*row["labels"].split(",")),
                    one_line(str(stated.get("license") or UNKNOWN)),
                    one_line(str(stated.get("uploader") or UNKNOWN)),
                )
            )
    if not clips:
        raise CollectionError(f"{folder}: FSD50K.ground_truth holds neither dev.csv nor eval.csv")
    return clips


def _classes(folder: Path) -> list[ListedClip]:
    """The clips of a folder for each class; metadata.csv (file, licence, author) is optional."""
    stated = {row["file"]: row for row in _rows_if_any(folder / "metadata.csv")}
    whole = next((one_line(line) for line in _lines(_licence_file(folder)) if line.strip()), None)
    clips = []
    for name in sorted({*file_names(folder), *stated}):
        labels = _labels(*name.split("/")[:-1][:1])
        is_sound = Path(name).suffix.lower() in SUFFIXES
        if labels or is_sound or name in stated:
            row = stated.get(name, {})
            licence = row.get("licence") or row.get("license") or whole
            author = row.get("author")
            clips.append(
                ListedClip(name, labels, one_line(licence or UNKNOWN), one_line(author or UNKNOWN))
            )
    if not any(clip.labels and Path(clip.name).suffix.lower() in SUFFIXES for clip in clips):
        raise CollectionError(
            f"{folder}: is neither ESC-50 (meta/esc50.csv) nor FSD50K (FSD50K.ground_truth/), "
            "and has no folders of sound files; name such folders after what is heard in them"
        )
    return clips


def _licence_file(folder: Path) -> Path:
    named = (p for p in sorted(folder.iterdir()) if p.stem.lower() in ("license", "licence"))
    return next(named, folder / "LICENSE")


def _plain(label: str) -> str:
    return re.sub(r"[\W_]+", "_", label.casefold()).strip("_")


def _labels(*labels: str) -> tuple[str, ...]:
    return tuple(filter(None, map(one_line, labels)))


def _lines(path: Path) -> list[str]:
    """Lines of a text, none if it is not there."""
    if not path.is_file():
        return []
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise CollectionError(f"{path}: cannot be read: {error.strerror}") from error


def _rows_if_any(path: Path) -> list[dict[str, str]]:
    return _rows(path, "file") if path.is_file() else []


def _rows(path: Path, *needed: str) -> list[dict[str, str]]:
    """A CSV file's rows; cells that a row lacks are empty."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            reader = csv.DictReader(stream, restkey="")
            columns = reader.fieldnames or ()
            rows = [{name: row[name] or "" for name in row if name} for row in reader]
    except (OSError, csv.Error) as error:
        raise CollectionError(f"{path}: cannot be read: {error}") from error
    for name in needed:
        if name not in columns:
            raise CollectionError(f"{path}: has no column {name!r}; fetch the file again")
    return rows


def _json(path: Path) -> dict[str, Any]:
    """A JSON object, an empty one if the file is not there."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise CollectionError(f"{path}: is not JSON; fetch the file again ({error})") from error
    if not isinstance(content, dict):
        raise CollectionError(f"{path}: must be an object with an entry for each clip")
    return content
