"""People listen to clips and say what they understand, without being told what they hear.

Nothing on the page says the words, the condition, the scene or what was intended.
"""

import hashlib
from functools import partial
from pathlib import Path
from typing import NamedTuple

import ipywidgets as widgets
import numpy as np
import pandas as pd

from aor_lib.config.records import Condition
from aor_lib.report.annotation.agreement import majority, share
from aor_lib.report.annotation.session import AnnotationSession, annotator_rng, systematic_sample
from aor_lib.report.annotation.store import CLIPS, AnnotationError
from aor_lib.stimuli.manifest import load_manifest

WITH_SCENE = {Condition.BENIGN_SCENE.value: True, Condition.SPEECH_ONLY.value: False}
"""Conditions in which clips are heard: with their scene and without."""

_IN_SCENE, _ALONE = (["sha256_in_scene", "path_in_scene"], ["sha256_alone", "path_alone"])


class Clip(NamedTuple):
    """A sound to annotate: ``path`` is relative to the manifest's folder."""

    sha256: str
    path: str


def plan_clips(manifest: pd.DataFrame, annotator: str, n: int, seed: int) -> list[Clip]:
    """The clips that an annotator hears, in their order.

    ``n`` utterances are drawn by ``seed`` alone, so that all annotators hear the same ones: a
    systematic sample over scenarios and intents. Each is heard in its benign scene and alone, in
    the same voice. By ``seed`` and ``annotator``, half of the utterances (to within one) come with
    the scene first; the two clips of an utterance have at least ``n // 2`` others between them.
    """
    rng = annotator_rng(seed, annotator)
    pairs = _pairs(manifest)
    if not 1 <= n <= len(pairs):
        raise AnnotationError(
            f"n: {n} utterances asked for, but the manifest has {len(pairs)} with a clip in the "
            f"benign scene and one without; ask for 1 to {len(pairs)}"
        )
    sample = systematic_sample(pairs, ["scenario", "intent"], n, np.random.default_rng(seed))
    order = rng.permutation(n)
    scene_first = rng.permutation(n) % 2 == 0
    first, second = order[: n // 2], order[n // 2 :]
    # What came early comes again early, what came late late: a pair never meets in the middle.
    again = np.concatenate([rng.permutation(first), rng.permutation(second)])
    turns = [(i, scene_first[i]) for i in order] + [(i, not scene_first[i]) for i in again]
    return [Clip(*sample.iloc[i][_IN_SCENE if scene else _ALONE]) for i, scene in turns]


def start_session(build: Path | str, annotator: str, n: int, seed: int) -> AnnotationSession | None:
    """Open an annotator's session on the clips of a study; None where no annotator is named."""
    if not annotator:
        return None
    clips = plan_clips(load_manifest(build), annotator, n, seed)
    for clip in clips:
        _read(Path(build), clip)
    players = {clip.sha256: partial(_player, Path(build), clip) for clip in clips}
    return AnnotationSession(build, CLIPS, annotator, players)


def heard_clips(manifest: pd.DataFrame, annotations: pd.DataFrame) -> pd.DataFrame:
    """Manifest rows of the clips that were annotated, ``with_scene``, and their majority ``label``.

    An annotation belongs to a sound, and counts for every stimulus that has this very sound.
    """
    core = manifest[(manifest["block"] == "core") & manifest["path"].notna()]
    asked = core[core["condition"].isin(WITH_SCENE)]
    with_scene = asked["condition"].map(WITH_SCENE).astype(bool)
    labels = asked["sha256"].map(majority(annotations))
    return asked.assign(with_scene=with_scene, label=labels).dropna(subset=["label"])


def readings(heard: pd.DataFrame) -> pd.DataFrame:
    """How clips were heard, one row per ``intent`` and ``with_scene``.

    The other columns are ``clips``, ``benign`` (heard so by most of their annotators), ``rate``,
    ``low``, ``high`` (95 %, Wilson).
    """
    groups = heard.groupby(["intent", "with_scene"])["label"]
    rows = [(*kind, *share(labels == "benign")) for kind, labels in groups]
    columns = ["intent", "with_scene", "clips", "benign", "rate", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def _player(build: Path, clip: Clip) -> widgets.Widget:
    """A new player each time: browsers start it by themselves once the page was clicked."""
    kind = Path(clip.path).suffix.removeprefix(".")
    return widgets.Audio(value=_read(build, clip), format=kind, autoplay=True, loop=False)


def _read(build: Path, clip: Clip) -> bytes:
    path = build / clip.path
    try:
        content = path.read_bytes()
    except OSError as error:
        raise AnnotationError(
            f"{path}: {error.strerror}; run 'aor data' to make it again"
        ) from error
    if hashlib.sha256(content).hexdigest() != clip.sha256:
        raise AnnotationError(f"{path}: sha256 is not the manifest's; run 'aor data' to mend it")
    return content


def _pairs(manifest: pd.DataFrame) -> pd.DataFrame:
    """Utterances with clips of both kinds in the same voice, one row each, in the order of ids."""
    columns = ["utterance_id", "scenario", "intent", "voice", "path", "sha256"]
    core = manifest[manifest["block"] == "core"].dropna(subset=["path"])
    in_scene = core.loc[core["condition"] == Condition.BENIGN_SCENE, columns]
    alone = core.loc[core["condition"] == Condition.SPEECH_ONLY, columns]
    both = in_scene.merge(alone, on=columns[:4], suffixes=("_in_scene", "_alone"))
    return both.drop_duplicates("utterance_id").sort_values("utterance_id", ignore_index=True)
