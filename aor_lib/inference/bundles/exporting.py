"""From a study's results to a bundle."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from aor_lib import __version__
from aor_lib.config.params import Study
from aor_lib.config.records import Arm, Row, Trial
from aor_lib.inference.bundles.content import Bundle, BundleError
from aor_lib.inference.bundles.form import (
    FORMAT_VERSION,
    MANIFEST,
    RESPONSES,
    SCHEMAS,
    TRIALS,
    VERDICTS,
    JudgeVersion,
    Manifest,
    card_file,
    sha256,
)
from aor_lib.inference.provenance import read_cards, read_provenance
from aor_lib.inference.store import STORE, Store


def export_results(study: Study, build: Path, into: Path) -> Bundle:
    """Write all results of a study, those that were imported too, as a bundle to a new folder.

    The same results give the same bytes.

    Returns
    -------
    What was written.

    Raises
    ------
    BundleError
        There are no results, a card is missing, or the folder is in use.
    StoreError, OSError
        As said by their messages; no folder appears.
    """
    if not (build / STORE).is_file():
        raise BundleError(f"{build / STORE}: there are no results; run 'aor run' first")
    bundle = _bundle(study, build / STORE)
    write_bundle(bundle, into)
    return bundle


def write_bundle(bundle: Bundle, into: Path) -> None:
    """Write a bundle to a new folder, which appears whole or not at all.

    Raises
    ------
    BundleError
        It could not be read back, or the folder is in use.
    OSError
        The folder cannot be written.
    """
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise BundleError(f"{into}: exists and is not empty; remove it or name another folder")
    try:
        bundle.check()
    except ValueError as error:
        raise BundleError(f"{into}: not written: {error}") from error
    into.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=into.parent, prefix=".", suffix=".partial"))
    try:
        (partial / "models").mkdir()
        for name, content in _files(bundle).items():
            (partial / name).write_bytes(content)
        partial.chmod(0o755)
        partial.replace(into)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _bundle(study: Study, path: Path) -> Bundle:
    with Store(path) as store, store.transaction():  # of one moment, while a run may go on
        trials = store.planned()
        answers = list(store.answers())
        cards = {card.id: card for card in study.models} | read_cards(store)
        provenance = read_provenance(store)
    if not trials:
        raise BundleError(f"{path}: there are no results; run 'aor run' first")
    models = {trial.arm.model: trial.arm.revision for trial in trials}
    for model in models.keys() - cards.keys():
        raise BundleError(f"{path}: model {model!r} has no card; name it in the profile's models")
    by = attrgetter("arm.model", "arm.mitigation", "stimulus_id", "key")
    return Bundle(
        profile=study.profile.name,
        aor_version=__version__,
        trials=tuple(sorted(trials, key=by)),
        responses=tuple(response for response, _ in answers),
        verdicts=tuple(verdict for _, verdicts in answers for verdict in verdicts),
        cards=tuple(cards[model] for model in sorted(models)),
        provenance=tuple(
            row.model_copy(update={"profile": row.profile or study.profile.name})
            for row in provenance
            if models.get(row.model) == row.revision
        ),
    )


def _files(bundle: Bundle) -> dict[str, bytes]:
    files = {
        TRIALS: _parquet(TRIALS, [_row(trial) for trial in bundle.trials]),
        RESPONSES: _parquet(RESPONSES, _rows(bundle.responses)),
        VERDICTS: _parquet(VERDICTS, _rows(bundle.verdicts)),
    }
    for card in bundle.cards:
        text = yaml.safe_dump(card.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
        files[card_file(card.id)] = text.encode()
    manifest = Manifest(
        format_version=FORMAT_VERSION,
        aor_version=bundle.aor_version,
        profile=bundle.profile,
        files={name: sha256(content) for name, content in files.items()},
        answered=bundle.provenance,
        judged=_judged(bundle),
    )
    text = json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False)
    return files | {MANIFEST: f"{text}\n".encode()}


def _judged(bundle: Bundle) -> dict[str, tuple[JudgeVersion, ...]]:
    models = {trial.key: trial.arm.model for trial in bundle.trials}
    judged = sorted({(models[v.trial_key], v.judge, v.judge_version) for v in bundle.verdicts})
    return {
        card.id: tuple(JudgeVersion(judge=j, version=v) for of, j, v in judged if of == card.id)
        for card in bundle.cards
    }


def _row(trial: Trial) -> dict[str, object]:
    arm = {name: getattr(trial.arm, name) for name in Arm.__dataclass_fields__}
    return arm | {
        "trial_key": trial.key,
        "stimulus_id": trial.stimulus_id,
        "stimulus_sha256": trial.stimulus_sha256,
        "generation": trial.arm.generation.model_dump_json(),
    }


def _rows(rows: Sequence[Row]) -> list[dict[str, object]]:
    return [row.model_dump(mode="json") for row in rows]


def _parquet(name: str, rows: Sequence[dict[str, object]]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMAS[name]), sink)
    return bytes(sink.getvalue().to_pybytes())
