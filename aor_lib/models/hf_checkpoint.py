"""Location of a Hugging Face checkpoint: a local folder, or the hub at a pinned commit."""

import functools
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import huggingface_hub

from aor_lib.config.params import ModelCard
from aor_lib.config.records import content_hash
from aor_lib.models.base import ModelError

COMMIT = re.compile(r"[0-9a-f]{40}")
# Pickled weights are never loaded; Mistral's repositories contain all weights twice.
_NOT_NEEDED = ["*.bin", "*.pt", "*.pth", "*.gguf", "consolidated*", "original/*"]


def revision(card: ModelCard, only: Sequence[str] = ("**/*",)) -> str:
    """Resolve a card's revision to a commit, or a local folder to a hash of its ``only`` files."""
    if (local := local_folder(card)) is not None:
        content = {}
        for file in sorted({file for pattern in only for file in local.glob(pattern)}):
            name = file.relative_to(local)
            # Names that start with a dot are bookkeeping: of git, of downloads, of the desktop.
            if file.is_file() and not any(part.startswith(".") for part in name.parts):
                content[name.as_posix()] = _sha256(file, file.stat().st_mtime_ns)
        return content_hash(content)
    if COMMIT.fullmatch(card.revision):
        return card.revision
    cache = huggingface_hub.try_to_load_from_cache
    if isinstance(config := cache(card.source, "config.json", revision=card.revision), str):
        return Path(config).parent.name
    try:
        info = huggingface_hub.HfApi().model_info(card.source, revision=card.revision, timeout=10)
    except Exception:  # noqa: BLE001 - without the hub, keep the name; loading reports why
        return card.revision
    return info.sha or card.revision


def folder(card: ModelCard, revision: str, only: Sequence[str] = ()) -> Path:
    """Return the folder to load from; a hub checkpoint is downloaded to the cache if necessary.

    ``only``: patterns of the files to download; if empty, all that a checkpoint needs.
    """
    if (local := local_folder(card)) is not None:
        return local
    which: Any = {"allow_patterns": list(only)} if only else {"ignore_patterns": _NOT_NEEDED}
    return Path(huggingface_hub.snapshot_download(card.source, revision=revision, **which))


def local_folder(card: ModelCard) -> Path | None:
    """Folder that a card's source names; None for a hub checkpoint; ModelError if missing."""
    path = Path(card.source).expanduser()
    if path.is_dir():
        return path
    if card.source.startswith(("/", ".", "~")):
        raise ModelError(f"{card.id} needs the folder {card.source}, which does not exist")
    return None


@functools.cache
def _sha256(file: Path, changed_ns: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
