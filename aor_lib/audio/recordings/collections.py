"""Other people's folders of sound: the clips that they list, their labels, licences and scenes.

ESC-50 (Piczak, 2015, https://doi.org/10.1145/2733373.2806390), FSD50K (Fonseca et al., 2022,
https://arxiv.org/abs/2010.00475), or a folder of sound files for each class.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from aor_lib.audio.sound_files import SUFFIXES, CollectionError, UnusableError, file_names
from aor_lib.config.params import scene_ids
from aor_lib.config.records import Identifier
from aor_lib.config.typed_yaml import Params, ParamsError, did_you_mean, one_line, read

UNKNOWN = "unknown"
"""A licence or an author that the collection does not state."""
_ESC50_LICENCE = "ESC-50 as a whole: CC BY-NC 3.0"
_ESC50_CREDIT = re.compile(
    r"^\W*(?P<take>\d-\d+-[A-Z])[^:]*: .*\) by (?P<author>.+) \[(?P<licence>[^\]]+)\]\s*$"
)


@dataclass(frozen=True)
class ListedClip:
    """A clip that a collection lists, whether it is there or not."""

    name: str
    labels: tuple[str, ...]
    licence: str
    author: str


class Mapping(Params):
    """In which scenes a collection's labels may be heard (params/recordings.yaml).

    Case, spaces and punctuation of labels do not matter. A scene's id is a label for that scene.
    """

    labels: dict[str, tuple[Identifier, ...]]
    excluded: tuple[str, ...]

    def scenes_with_labels(self, labels: Sequence[str]) -> dict[str, str]:
        """Scenes with the first label that fits; UnusableError if none, or one is excluded."""
        if not labels:
            raise UnusableError("has no label")
        for label in labels:
            if _plain(label) in self.excluded:
                raise UnusableError(f"is labelled {label!r}, which the mapping excludes")
        label_in: dict[str, str] = {}
        for label in labels:
            for scene in self.labels.get(_plain(label), ()):
                label_in.setdefault(scene, label)
        if not label_in:
            raise UnusableError(f"has no scene: the mapping lacks {', '.join(labels)}")
        return label_in


def read_mapping(path: Path) -> Mapping:
    """Read params/recordings.yaml or a file like it."""
    written = read(path, Mapping)
    known = scene_ids()
    labels: dict[str, tuple[str, ...]] = {scene: (scene,) for scene in known}
    for label, scenes in written.labels.items():
        for scene in scenes:
            if scene not in known:
                raise ParamsError(
                    f"{path}: labels.{label}: unknown scene {scene!r}{did_you_mean(scene, known)}"
                )
        if (plain := _plain(label)) in labels:
            raise ParamsError(f"{path}: labels.{label}: appears twice, or is a scene's id")
        labels[plain] = scenes
    return Mapping(labels=labels, excluded=tuple(map(_plain, written.excluded)))


def read_collection(folder: Path) -> tuple[str, list[ListedClip]]:
    """The name of a folder's collection, and its clips by name; CollectionError if it has none."""
    if (folder / "meta" / "esc50.csv").is_file():
        source, clips = "ESC-50", _esc50(folder)
    elif (folder / "FSD50K.ground_truth").is_dir():
        source, clips = "FSD50K", _fsd50k(folder)
    else:
        source, clips = one_line(folder.resolve().name), _classes(folder)
    return source, sorted(clips, key=lambda clip: clip.name)


def _esc50(folder: Path) -> list[ListedClip]:
    matches = map(_ESC50_CREDIT.match, _lines(folder / "LICENSE"))
    credits = {match["take"]: match for match in matches if match is not None}
    clips = []
    for row in _rows(folder / "meta" / "esc50.csv", "filename", "category"):
        licence, author = _ESC50_LICENCE, UNKNOWN
        # 1-100032-A-0.wav is take A of source 100032; the number at the end is its class.
        if (credit := credits.get(row["filename"].rpartition("-")[0])) is not None:
            licence, author = f"{credit['licence']} ({licence})", credit["author"]
        clips.append(_clip(f"audio/{row['filename']}", [row["category"]], licence, author))
    return clips


def _fsd50k(folder: Path) -> list[ListedClip]:
    clips = []
    for part in ("dev", "eval"):
        listing = folder / "FSD50K.ground_truth" / f"{part}.csv"
        if not listing.is_file():
            continue
        info = _json(folder / "FSD50K.metadata" / f"{part}_clips_info_FSD50K.json")
        for row in _rows(listing, "fname", "labels"):
            stated = info.get(row["fname"])
            about = stated if isinstance(stated, dict) else {}
            name = f"FSD50K.{part}_audio/{row['fname']}.wav"
            labels = row["labels"].split(",")
            clips.append(_clip(name, labels, about.get("license"), about.get("uploader")))
    if not clips:
        raise CollectionError(f"{folder}: FSD50K.ground_truth lists no clip in dev.csv or eval.csv")
    return clips


def _classes(folder: Path) -> list[ListedClip]:
    metadata = folder / "metadata.csv"
    stated = {row["file"]: row for row in _rows(metadata, "file")} if metadata.is_file() else {}
    named = [p for p in sorted(folder.iterdir()) if p.stem.lower() in ("license", "licence")]
    licence = next((line for path in named for line in _lines(path) if line.strip()), None)
    clips = []
    for name in sorted({*file_names(folder), *stated}):
        labels = name.split("/")[:-1][:1]
        if labels or name in stated or _is_sound(name):
            row = stated.get(name, {})
            own = row.get("licence") or row.get("license")
            clips.append(_clip(name, labels, own or licence, row.get("author")))
    if not any(clip.labels and _is_sound(clip.name) for clip in clips):
        raise CollectionError(
            f"{folder}: is neither ESC-50 (meta/esc50.csv) nor FSD50K (FSD50K.ground_truth/), "
            "and has no folders of sound files; name such folders after what is heard in them"
        )
    return clips


def _clip(name: str, labels: Iterable[str], licence: object, author: object) -> ListedClip:
    said = (one_line(label, 300) for label in labels)
    return ListedClip(
        name,
        tuple(label for label in said if label),
        one_line(licence or UNKNOWN, 300),
        one_line(author or UNKNOWN, 300),
    )


def _is_sound(name: str) -> bool:
    return Path(name).suffix.lower() in SUFFIXES


def _plain(label: str) -> str:
    return re.sub(r"[\W_]+", "_", label.casefold()).strip("_")


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        return []
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def _rows(path: Path, *needed: str) -> list[dict[str, str]]:
    try:
        table = pd.read_csv(
            path, dtype=str, keep_default_na=False, index_col=False, encoding_errors="replace"
        )
    except (OSError, ValueError) as error:
        raise CollectionError(f"{path}: cannot be read: {one_line(error)}") from error
    for name in needed:
        if name not in table:
            raise CollectionError(f"{path}: has no column {name!r}; fetch the file again")
    return [
        {str(name): cell for name, cell in row.items()}
        for row in table.fillna("").to_dict("records")
    ]


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise CollectionError(f"{path}: is not JSON; fetch the file again ({error})") from error
    if not isinstance(content, dict):
        raise CollectionError(f"{path}: must be an object with an entry for each clip")
    return content
