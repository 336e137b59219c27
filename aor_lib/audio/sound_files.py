"""Folders of sound files from elsewhere: finding the files, and importing one after the other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aor_lib.config.typed_yaml import AorError, one_line
from aor_lib.storage.progress import Report

SUFFIXES = {".wav", ".w64", ".rf64", ".au", ".aif", ".aiff", ".flac", ".ogg", ".oga", ".opus"}
SUFFIXES |= {".mp3", ".m4a", ".mp4", ".webm"}


class CollectionError(AorError, ValueError):
    """A folder that cannot be imported at all; one line names the file and what to do."""


class UnusableError(Exception):
    """A file that cannot be imported; the message is the reason, to be read after its name."""


class UnreadableError(UnusableError):
    """A file that is damaged or missing, and not merely unfit."""


@dataclass(frozen=True)
class ImportReport:
    """Names of files by what became of them."""

    imported: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]  # with the reason
    unreadable: tuple[str, ...]  # those among the skipped that are damaged or missing


def import_each(names: Sequence[str], take: Callable[[str], None], report: Report) -> ImportReport:
    """Take files by their names, one after the other; those that are unusable are left out."""
    imported, skipped, unreadable = [], [], []
    for done, name in enumerate(names, start=1):
        shown = one_line(name)
        try:
            take(name)
            imported.append(shown)
        except UnusableError as error:
            skipped.append((shown, str(error)))
            if isinstance(error, UnreadableError):
                unreadable.append(shown)
        report(done, len(names))
    return ImportReport(tuple(imported), tuple(skipped), tuple(unreadable))


def check_folders(folder: Path, into: Path) -> None:
    """Raise CollectionError unless ``folder`` is one and ``into`` lies outside of it."""
    if not folder.is_dir():
        raise CollectionError(f"{folder}: is not a folder")
    if into.resolve().is_relative_to(folder.resolve()):
        raise CollectionError(f"{into}: lies within {folder}; name a folder outside of it")


def file_names(folder: Path) -> Iterator[str]:
    """Names of the files below a folder, relative to it; hidden ones and folders' links are not."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not any(part.startswith(".") for part in name.parts) and not path.is_dir():
            yield name.as_posix()


def contained(folder: Path, name: str) -> Path:
    """The file of a name in a collection's list; UnusableError if the folder holds none."""
    try:
        path = (folder / name).resolve(strict=True)
    except (OSError, ValueError) as error:
        raise UnreadableError("is listed but missing") from error
    if not path.is_relative_to(folder.resolve()):
        raise UnusableError("lies outside the folder")
    return path
