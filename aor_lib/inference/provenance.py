"""Provenance of answers: the machine, its libraries, and the model's revision."""

from __future__ import annotations

import datetime
import platform
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from aor_lib import __version__
from aor_lib.config.records import Identifier, Row
from aor_lib.models.base import AudioModel

_LIBRARIES = ("ctranslate2", "numpy", "openai", "peft", "tokenizers", "torch", "transformers")


class Provenance(Row):
    """One machine on which a model of one revision answered trials."""

    model: Identifier
    revision: str
    profile: str = ""  # the study it was imported from; "": this one
    aor_version: str
    python: str
    device: str  # processors of the machine, or what its server says of itself
    libraries: dict[str, str]  # versions, by name
    since: str  # UTC, ISO 8601: when the first answer came


def provenance_of(model: AudioModel) -> Provenance:
    """Provenance of the answers that a model gives now."""
    return Provenance(
        model=model.card.id,
        revision=model.revision,
        aor_version=__version__,
        python=platform.python_version(),
        device=_device(model),
        libraries=_versions(),
        since=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def _device(model: AudioModel) -> str:
    if server := getattr(model, "server", None):
        return str(server)
    processors = [_processor()]
    if torch := sys.modules.get("torch"):  # whoever has not loaded it does not use a GPU
        processors += map(torch.cuda.get_device_name, range(torch.cuda.device_count()))
    return ", ".join(dict.fromkeys(processors))


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in _LIBRARIES}


@cache
def _processor() -> str:
    with suppress(OSError):  # not Linux
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
