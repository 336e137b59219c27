"""Sound bank: one folder per collection, with its recordings (mono FLAC, 24 kHz) and a table.

Deleting a collection's folder removes the collection from the bank. Sounds of recordings and of
scenes have AudioSet labels (params/sound_labels.yaml).
"""

import functools
import hashlib
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import soundfile
from pydantic import BeforeValidator

from aor_lib.audio.mixing import Samples
from aor_lib.audio.sound_files import UnusableError
from aor_lib.config.params import PARAMS
from aor_lib.config.records import Row, Sha256, content_hash
from aor_lib.config.typed_yaml import AorError, Params, did_you_mean, one_line, read
from aor_lib.storage.assets import cache_folder

TABLE = "recordings.json"
LABELS_FILE = PARAMS / "sound_labels.yaml"
_Line = Annotated[str, BeforeValidator(lambda value: one_line(value or "", 300))]


class BankError(AorError):
    """Error for a bank that is missing or damaged; the message says what to do."""


class ListedSound(Row):
    """A sound as listed by its collection."""

    labels: tuple[_Line, ...]
    file: str
    source: _Line
    author: _Line
    licence: _Line


class Recording(ListedSound):
    """A recording in a bank, with AudioSet ``labels`` and the ``sha256`` of the bank's file."""

    sha256: Sha256
    duration_s: float


@dataclass(frozen=True)
class SoundBank:
    """All recordings of a bank with their sound files, sorted by their metadata."""

    files: dict[Recording, Path]

    @functools.cached_property
    def sha256(self) -> str:
        """Hash of everything in the bank that can affect a clip."""
        return content_hash([recording.model_dump(mode="json") for recording in self.files])

    @functools.cached_property
    def by_label(self) -> dict[str, list[Recording]]:
        """The recordings of each label."""
        by_label: dict[str, list[Recording]] = {}
        for recording in self.files:
            for label in recording.labels:
                by_label.setdefault(label, []).append(recording)
        return by_label

    def samples(self, recording: Recording) -> Samples:
        """Samples of a recording, read-only; BankError if its file is missing or altered."""
        return _samples(self.files[recording], recording.sha256)


def bank_folder() -> Path:
    """Folder of the sound bank in the user's cache."""
    return cache_folder() / "bank"


def sound_file(collection: Path, sha256: str) -> Path:
    """Path of a recording's file in its collection's folder."""
    return collection / f"{sha256[:32]}.flac"


def open_bank(folder: Path) -> SoundBank:
    """Read all tables of a bank; BankError if it holds no recordings, or a table is damaged."""
    tables = sorted(folder.glob(f"*/{TABLE}"))
    bank = _read(tuple((table, table.stat().st_mtime_ns) for table in tables))
    if not bank.files:
        raise BankError(f"{folder}: the sound bank is empty; run 'aor import FOLDER --sounds'")
    return bank


@functools.lru_cache(maxsize=2)
def _read(tables: tuple[tuple[Path, int], ...]) -> SoundBank:
    files: dict[Recording, Path] = {}
    for table, _ in tables:
        try:
            rows = [Recording.model_validate(row) for row in json.loads(table.read_bytes())]
        except (OSError, ValueError, TypeError) as error:
            why = f"cannot be read; import its collection again ({one_line(error)})"
            raise BankError(f"{table}: {why}") from error
        for row in rows:
            files.setdefault(row, sound_file(table.parent, row.sha256))
    return SoundBank(dict(sorted(files.items(), key=lambda entry: entry[0].model_dump_json())))


@functools.lru_cache(maxsize=64)
def _samples(path: Path, sha256: str) -> Samples:
    audio = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(audio).hexdigest() != sha256:
        raise BankError(f"{path}: is missing or altered; import its collection again")
    samples = np.asarray(soundfile.read(io.BytesIO(audio))[0], dtype=np.float32)
    samples.flags.writeable = False
    return samples


class SoundLabels(Params):
    """Content of params/sound_labels.yaml, whose comments explain each key."""

    words: tuple[str, ...]
    alarming: tuple[str, ...]
    vague: tuple[str, ...]
    esc50: dict[str, tuple[str, ...]]
    labels: tuple[str, ...]


@functools.cache
def sound_labels() -> SoundLabels:
    """Read params/sound_labels.yaml, once."""
    return read(LABELS_FILE, SoundLabels)


def label_named(name: str) -> str | None:
    """Label that matches a name, ignoring case, punctuation and "and"; None if there is none.

    ``Dishes_and_pots_and_pans`` matches ``Dishes, pots, and pans``.
    """
    return _by_words().get(_words(name))


def labels_of(names: Sequence[str]) -> tuple[str, ...]:
    """Labels for which scenes may use a recording with these names, without duplicates.

    UnusableError if no name is a sufficiently specific label, or a label implies spoken words.
    """
    known = sound_labels()
    labels = tuple(dict.fromkeys(filter(None, map(label_named, names))))
    described = f"is labelled {', '.join(names) or 'nothing'}"
    if not labels:
        hint = did_you_mean(" ".join(names), known.labels).partition("; valid")[0]
        raise UnusableError(f"{described}, which is not in {LABELS_FILE.name}{hint}")
    labels = tuple(label for label in labels if label not in known.vague)
    if not labels:
        raise UnusableError(f"{described}, which is too broad a category")
    if spoken := [label for label in labels if label in known.words]:
        raise UnusableError(f"is labelled {spoken[0]!r}: words would compete with the speaker's")
    return tuple(label for label in labels if label in known.alarming) or labels


@functools.cache
def _by_words() -> dict[tuple[str, ...], str]:
    return {_words(label): label for label in sound_labels().labels}


def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.findall(r"[^\W_]+", name.casefold()) if word != "and")
