"""Find the sound files in a folder, and import them one after the other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aor_lib.config.typed_yaml import AorError, one_line
from aor_lib.storage.progress import Report

SUFFIXES = {".wav", ".w64", ".rf64", ".au", ".aif", ".aiff", ".flac", ".ogg", ".oga", ".opus"}
SUFFIXES |= {".mp3", ".m4a", ".mp4", ".webm"}


class CollectionError(AorError, ValueError):
    """Error for a folder that cannot be imported; one line names the file and the remedy."""


class UnusableError(Exception):
    """Error for a file that cannot be imported; the message, a reason, follows the file's name."""


class UnreadableError(UnusableError):
    """Error for a file that is damaged or missing, rather than unfit."""


@dataclass(frozen=True)
class ImportReport:
    """Names of the files that were imported, skipped or unreadable."""

    imported: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]  # names with reasons
    unreadable: tuple[str, ...]  # skipped files that are damaged or missing


def import_each(names: Sequence[str], take: Callable[[str], None], report: Report) -> ImportReport:
    """Call ``take`` with each file name, and list the imported and the skipped files."""
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
    """Raise CollectionError unless ``folder`` is a folder and ``into`` lies outside it."""
    if not folder.is_dir():
        raise CollectionError(f"{folder}: is not a folder")
    if into.resolve().is_relative_to(folder.resolve()):
        raise CollectionError(f"{into}: lies within {folder}; choose a folder outside it")


def file_names(folder: Path) -> Iterator[str]:
    """Relative names of all files below a folder, except hidden files and links to folders."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if not any(part.startswith(".") for part in name.parts) and not path.is_dir():
            yield name.as_posix()


def contained(folder: Path, name: str) -> Path:
    """Path of a file in a collection's list; UnusableError if the folder does not contain it."""
    try:
        path = (folder / name).resolve(strict=True)
    except (OSError, ValueError) as error:
        raise UnreadableError("is listed but missing") from error
    if not path.is_relative_to(folder.resolve()):
        raise UnusableError("lies outside the folder")
    return path
