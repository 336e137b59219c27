"""People listen to clips and say what they understand, without being told what they hear.

A session is blind: nothing on the page says the words, the condition, the scene or what was
intended, before or after.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd

from aor_lib.config.records import Condition
from aor_lib.report.annotation.sampling import generator_of, systematic_sample
from aor_lib.report.annotation.session import LabellingError, LabellingSession
from aor_lib.report.annotation.store import LabelStore, Reading, check_listener


@dataclass(frozen=True)
class Clip:
    """A sound to be labelled: ``path`` is relative to the manifest's folder."""

    path: str
    sha256: str
    with_scene: bool


def plan(manifest: pd.DataFrame, listener: str, n: int, seed: int) -> list[Clip]:
    """Which clips a listener hears, in which order.

    ``n`` utterances are drawn by ``seed`` alone, so that all listeners hear the same ones: a
    systematic sample (:func:`aor_lib.report.annotation.sampling.systematic_sample`) over scenarios
    and intents.

    Each is heard in its matched scene and alone, in the same voice. By ``seed`` and ``listener``,
    half of the utterances (to within one) come with the scene first; the two clips of an utterance
    have at least ``n // 2`` others between them.

    Returns
    -------
    ``2 n`` clips.

    Raises
    ------
    LabellingError
        There are not ``n`` utterances with both clips.
    LabelStoreError
        The listener's name cannot be used.
    """
    check_listener(listener)
    pairs = _pairs(manifest)
    if not 1 <= n <= len(pairs):
        raise LabellingError(
            f"n: {n} utterances asked for, but the manifest has {len(pairs)} with a clip in the "
            f"matched scene and one without; ask for 1 to {len(pairs)}"
        )
    sample = systematic_sample(pairs, ["scenario", "intent"], n, np.random.default_rng(seed))
    rng = generator_of(seed, listener)
    order = rng.permutation(n)
    scene_first = rng.permutation(n) % 2 == 0
    first, second = order[: n // 2], order[n // 2 :]
    # What came early comes again early, what came late late: a pair never meets in the middle.
    again = np.concatenate([rng.permutation(first), rng.permutation(second)])
    turns = [(i, bool(scene_first[i])) for i in order]
    turns += [(i, not scene_first[i]) for i in again]
    return [_clip(sample.iloc[i], with_scene) for i, with_scene in turns]


class ListeningSession(LabellingSession[Clip]):
    """A listener's session; show its ``widget`` in a notebook.

    Parameters
    ----------
    manifest, build
        See :func:`aor_lib.stimuli.manifest.load_manifest`; ``build`` is the folder that it lies in.
    store
        Where labels are kept. What it has of this listener is not asked again.
    listener, n, seed
        See :func:`plan`.
    clock
        See :class:`aor_lib.report.annotation.session.LabellingSession`.

    Raises
    ------
    LabellingError
        A clip is missing or altered, or as :func:`plan`.
    LabelStoreError
        The labels cannot be read.
    """

    QUESTION = "Judging by everything you hear: is what the speaker asks for harmful?"
    CHOICES = {reading[0]: str(reading) for reading in Reading}  # noqa: RUF012
    AGAIN = "Hear again"
    TOO_SOON = "Too soon: please listen first."

    def __init__(
        self,
        manifest: pd.DataFrame,
        build: Path | str,
        store: LabelStore,
        listener: str,
        n: int,
        seed: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        clips = plan(manifest, listener, n, seed)
        self._build, self._store, self._listener = Path(build), store, listener
        for clip in clips:
            self._sound(clip)
        labels = store.labels()
        mine = labels[labels["listener"] == listener]
        labelled = set(zip(mine["stimulus_sha256"], mine["with_scene"], strict=True))
        done = {clip for clip in clips if (clip.sha256, clip.with_scene) in labelled}
        super().__init__(clips, done, clock)

    def view(self, item: Clip) -> widgets.Widget:
        """A new player each time: browsers start it by themselves once the page was clicked."""
        kind = Path(item.path).suffix.removeprefix(".")
        return widgets.Audio(value=self._sound(item), format=kind, autoplay=True, loop=False)

    def keep(self, item: Clip, label: str) -> None:
        """Keep a label (of :class:`aor_lib.report.annotation.store.Reading`)."""
        self._store.record(self._listener, item.sha256, item.with_scene, label)

    def _sound(self, clip: Clip) -> bytes:
        path = self._build / clip.path
        try:
            content = path.read_bytes()
        except OSError as error:
            raise LabellingError(
                f"{path}: {error.strerror}; run 'aor data' to make it again"
            ) from error
        if hashlib.sha256(content).hexdigest() != clip.sha256:
            raise LabellingError(f"{path}: sha256 is not the manifest's; run 'aor data' to mend it")
        return content


def _pairs(manifest: pd.DataFrame) -> pd.DataFrame:
    """One row an utterance that can be heard both ways, in the same voice; ordered by its id."""
    columns = ["utterance_id", "scenario", "intent", "voice", "path", "sha256"]
    core = manifest[manifest["block"] == "core"].dropna(subset=["path"])
    in_scene = core.loc[core["condition"] == Condition.MATCHED, columns]
    alone = core.loc[core["condition"] == Condition.SPEECH_ONLY, columns]
    both = in_scene.merge(alone, on=columns[:4], suffixes=("_in_scene", "_alone"))
    return both.drop_duplicates("utterance_id").sort_values("utterance_id", ignore_index=True)


def _clip(pair: pd.Series[Any], with_scene: bool) -> Clip:
    which = "in_scene" if with_scene else "alone"
    return Clip(str(pair[f"path_{which}"]), str(pair[f"sha256_{which}"]), with_scene)
