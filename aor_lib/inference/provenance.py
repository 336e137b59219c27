"""Where a study's answers come from: what each model is, and on what machine it answered.

Both are kept in the store beside the answers, and travel with them in results bundles.
"""

from __future__ import annotations

import datetime
import json
import platform
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import Field

from aor_lib import __version__
from aor_lib.config.params import ModelCard
from aor_lib.config.records import Identifier, Row
from aor_lib.inference.cluster import RemoteModel
from aor_lib.inference.store import Store
from aor_lib.inference.store_rows import insertion
from aor_lib.models.base import AudioModel

LIBRARIES = (
    "accelerate",
    "ctranslate2",
    "faster-whisper",
    "mistral-common",
    "numpy",
    "onnxruntime",
    "openai",
    "peft",
    "soundfile",
    "soxr",
    "tokenizers",
    "torch",
    "transformers",
)
"""Packages of which another version might change an answer."""


class Provenance(Row):
    """One machine on which a model of one revision answered trials."""

    model: Identifier
    revision: str
    profile: str = Field(default="", description="The study it was imported from; '': this one.")
    aor_version: str
    python: str
    device: str = Field(description="Processors of the machine, or what is known of it.")
    libraries: dict[str, str] = Field(description="Versions, by name.")
    since: str = Field(description="UTC, ISO 8601: when the first answer came.")


def provenance_of(model: AudioModel) -> Provenance:
    """Provenance of the answers that a model gives now."""
    unknown = isinstance(model, RemoteModel)
    return Provenance(
        model=model.card.id,
        revision=model.revision,
        aor_version=__version__,
        python="unknown" if unknown else platform.python_version(),
        device="workers of a cluster" if unknown else _device(model),
        libraries={} if unknown else _versions(),
        since=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def record_provenance(store: Store, rows: Iterable[Provenance]) -> None:
    """Keep provenances in a store; one that is there already keeps its date."""
    statement = insertion("INSERT OR IGNORE", "provenance", tuple(Provenance.model_fields))
    with store.transaction() as db:
        for row in rows:
            libraries = json.dumps(row.libraries, sort_keys=True)
            db.execute(statement, tuple((row.model_dump() | {"libraries": libraries}).values()))


def read_provenance(store: Store) -> list[Provenance]:
    """All provenances in a store, by model."""
    columns = tuple(Provenance.model_fields)
    rows = store.read(f"SELECT {', '.join(columns)} FROM provenance")
    fields = [dict(zip(columns, row, strict=True)) for row in rows]
    return [Provenance(**row | {"libraries": json.loads(row["libraries"])}) for row in fields]


def record_cards(store: Store, cards: Iterable[ModelCard]) -> None:
    """Keep model cards in a store, in place of earlier ones of the same models."""
    kept = read_cards(store)
    new = [(card.id, card.model_dump_json()) for card in cards if kept.get(card.id) != card]
    if new:
        with store.transaction() as db:
            db.executemany(insertion("INSERT OR REPLACE", "cards", ("model", "card")), new)


def read_cards(store: Store) -> dict[str, ModelCard]:
    """Model cards in a store, by the models' ids."""
    rows = store.read("SELECT model, card FROM cards ORDER BY model")
    return {model: ModelCard.model_validate_json(card) for model, card in rows}


def _device(model: AudioModel) -> str:
    if model.card.kind == "openai_api":
        return getattr(model, "served", None) or "the provider's"
    processors = [_processor()]
    if torch := sys.modules.get("torch"):  # whoever has not loaded it does not use a GPU
        processors += map(torch.cuda.get_device_name, range(torch.cuda.device_count()))
    return ", ".join(dict.fromkeys(processors))


@cache
def _processor() -> str:
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        facts = []
    names = [line.partition(":")[2].strip() for line in facts if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


@cache
def _versions() -> dict[str, str]:
    versions = {}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
