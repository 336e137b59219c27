"""Where a study's answers come from: what each model is, and on what machine it answered.

Both are kept in the store beside the answers, and travel with them in results bundles.
"""

from __future__ import annotations

import datetime
import json
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import Field

from aor_lib import __version__
from aor_lib.config.params import ModelCard
from aor_lib.config.records import Identifier, Row
from aor_lib.inference.cluster import RemoteModel
from aor_lib.inference.store import Store
from aor_lib.models.base import AudioModel

_LIBRARIES = (
    *("accelerate", "ctranslate2", "faster-whisper", "mistral-common", "numpy", "onnxruntime"),
    *("openai", "peft", "soundfile", "soxr", "tokenizers", "torch", "transformers"),
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
    """A model's provenance if it answers now."""
    unknown = isinstance(model, RemoteModel)
    return Provenance(
        model=model.card.id,
        revision=model.revision,
        aor_version=__version__,
        python="unknown" if unknown else platform.python_version(),
        device="workers of a cluster" if unknown else _device(model.card),
        libraries={} if unknown else _versions(),
        since=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def record_provenance(store: Store, rows: Iterable[Provenance]) -> None:
    """Keep provenances in a store; one that is there already keeps its date."""
    values = (
        tuple((row.model_dump() | {"libraries": _json(row.libraries)}).values()) for row in rows
    )
    columns = tuple(Provenance.model_fields)
    with store.transaction() as db:
        db.executemany(
            f"INSERT OR IGNORE INTO provenance ({', '.join(columns)})"
            f" VALUES ({', '.join('?' * len(columns))})",
            values,
        )


def read_provenance(store: Store) -> list[Provenance]:
    """All that a store knows, by model."""
    columns = tuple(Provenance.model_fields)
    rows = store.read(f"SELECT {', '.join(columns)} FROM provenance")
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    return [Provenance(**row | {"libraries": json.loads(row["libraries"])}) for row in found]


def record_cards(store: Store, cards: Iterable[ModelCard]) -> None:
    """Keep model cards in a store, in place of earlier ones of the same models."""
    rows = [(card.id, card.model_dump_json()) for card in cards]
    if set(rows) <= set(_cards(store)):
        return
    with store.transaction() as db:
        db.executemany("INSERT OR REPLACE INTO cards (model, card) VALUES (?, ?)", rows)


def read_cards(store: Store) -> dict[str, ModelCard]:
    """The cards in a store, by the models' ids."""
    return {model: ModelCard.model_validate_json(card) for model, card in _cards(store)}


def _cards(store: Store) -> list[tuple[str, str]]:
    return store.read("SELECT model, card FROM cards ORDER BY model")


def _device(card: ModelCard) -> str:
    if card.kind == "openai_api":
        return "the provider's"
    torch = sys.modules.get("torch")  # whoever has not loaded it does not use a GPU
    gpus = (
        [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())] if torch else []
    )
    return ", ".join(dict.fromkeys([_processor(), *gpus]))


def _processor() -> str:
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        facts = []
    names = [line.partition(":")[2].strip() for line in facts if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True)
