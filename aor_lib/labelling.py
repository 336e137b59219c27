"""People listen to clips and say what they understand, without being told what they hear.

A session is blind: nothing on the page says the words, the condition, the scene or what was
intended, before or after. It can be left at any time and goes on where it was.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd

from aor_lib.label_store import LabelStore, LabelStoreError, Reading, check_listener
from aor_lib.records import Condition

QUESTION = "Judging by everything you hear: is what the speaker asks for harmful?"
SHORTEST_LISTENING_S = 1.0
"""Keys are ignored this long after a clip appears, so that a key held down labels nothing."""

_BACK, _REPLAY = "z", " "


class LabellingError(ValueError):
    """A session that cannot be held; the message is one line and says what to do."""


@dataclass(frozen=True)
class Clip:
    """A sound to be labelled: ``path`` is relative to the manifest's folder."""

    path: str
    sha256: str
    with_scene: bool


def plan(manifest: pd.DataFrame, listener: str, n: int, seed: int) -> list[Clip]:
    """Which clips a listener hears, in which order.

    ``n`` utterances are drawn by ``seed`` alone, so that all listeners hear the same ones: a
    systematic sample in the order of scenario and intent, at random within (W. G. Cochran,
    "Sampling Techniques", 3rd ed., 1977, chapter 8). Every utterance is equally likely, and each
    scenario and intent gets its share to within one.

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
    sample = _sample(pairs, n, np.random.default_rng(seed))
    digest = hashlib.sha256(listener.encode()).digest()
    rng = np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
    order = rng.permutation(n)
    scene_first = rng.permutation(n) % 2 == 0
    first, second = order[: n // 2], order[n // 2 :]
    # What came early comes again early, what came late late: a pair never meets in the middle.
    again = np.concatenate([rng.permutation(first), rng.permutation(second)])
    turns = [(i, bool(scene_first[i])) for i in order]
    turns += [(i, not scene_first[i]) for i in again]
    return [_clip(sample.iloc[i], with_scene) for i, with_scene in turns]


class ListeningSession:
    """A listener's session; show its ``widget`` in a notebook.

    Parameters
    ----------
    manifest, build
        See :func:`aor_lib.results.load_manifest`; ``build`` is the folder that it lies in.
    store
        Where labels are kept. What it has of this listener is not asked again.
    listener, n, seed
        See :func:`plan`.
    clock
        Gives a time in seconds that never goes back.

    Raises
    ------
    LabellingError
        A clip is missing or altered, or as :func:`plan`.
    LabelStoreError
        The labels cannot be read.
    """

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
        self.clips = plan(manifest, listener, n, seed)
        self._build, self._store, self._listener = Path(build), store, listener
        self._clock, self._position = clock, 0
        self._lock = threading.RLock()  # JupyterLab may run each widget's events in its own thread
        for clip in self.clips:
            self._sound(clip)
        labels = store.labels()
        mine = labels[labels["listener"] == listener]
        self._labelled = set(zip(mine["stimulus_sha256"], mine["with_scene"], strict=True))
        self._player = widgets.Box()
        self._progress, self._message = widgets.Label(), widgets.Label()
        # Keys typed into a field reach the kernel in every frontend and never run its shortcuts.
        self._keys = widgets.Text(
            placeholder="click here for the keys h, b, u, space, z",
            layout=widgets.Layout(width="22em"),
        )
        self._keys.observe(self._on_key, names="value")
        self.widget = widgets.VBox(
            [
                self._progress,
                self._player,
                widgets.Label(QUESTION),
                widgets.HBox([self._button(r.title(), r[0], self.choose, r) for r in Reading]),
                widgets.HBox(
                    [
                        self._button("Hear again", "space", self.replay),
                        self._button("Back", _BACK, self.back),
                        self._keys,
                    ]
                ),
                self._message,
            ]
        )
        self._go_to_next()

    @property
    def current(self) -> Clip | None:
        """The clip to be labelled; None at the end."""
        return self.clips[self._position] if self._position < len(self.clips) else None

    def choose(self, label: str) -> None:
        """Keep a label (of :class:`aor_lib.label_store.Reading`) of the current clip; go on."""
        if (clip := self.current) is None:
            return
        self._store.record(self._listener, clip.sha256, clip.with_scene, label)
        self._labelled.add((clip.sha256, clip.with_scene))
        self._go_to_next()

    def back(self) -> None:
        """Return to the clip before, whose label the next choice replaces."""
        self._position = max(0, self._position - 1)
        self._show()

    def replay(self) -> None:
        """Play the current clip again from its start."""
        for old in self._player.children:
            old.close()
        self._player.children = []
        if (clip := self.current) is not None:
            # A new player each time: browsers start it by themselves once the page was clicked.
            kind = Path(clip.path).suffix.removeprefix(".")
            sound = self._sound(clip)
            player = widgets.Audio(value=sound, format=kind, autoplay=True, loop=False)
            self._player.children = [player]

    def _go_to_next(self) -> None:
        unlabelled = (
            i for i, c in enumerate(self.clips) if (c.sha256, c.with_scene) not in self._labelled
        )
        self._position = next(unlabelled, len(self.clips))
        self._show()

    def _show(self) -> None:
        self._shown_s = self._clock()
        self._message.value = ""
        self._progress.value = (
            f"{self._position + 1} of {len(self.clips)}"
            if self.current
            else f"All {len(self.clips)} are done. Thank you!"
        )
        self.replay()

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

    def _button(
        self, title: str, key: str, action: Callable[..., None], *values: str
    ) -> widgets.Button:
        button = widgets.Button(description=f"{title} ({key})")

        def clicked(_: object) -> None:
            with self._lock:
                self._try(action, *values)
                self._keys.focus()

        button.on_click(clicked)
        return button

    def _on_key(self, change: dict[str, Any]) -> None:
        if not change["new"]:
            return
        with self._lock:
            self._keys.value = ""
            self._press(change["new"][-1].lower())

    def _press(self, key: str) -> None:
        readings = {reading[0]: reading for reading in Reading}
        if key == _REPLAY:
            self._try(self.replay)
        elif key == _BACK:
            self._try(self.back)
        elif key not in readings:
            self._message.value = "The keys are h, b, u, space (hear again) and z (back)."
        elif self._clock() - self._shown_s < SHORTEST_LISTENING_S:
            self._message.value = "Too soon: please listen first."
        else:
            self._try(self.choose, readings[key])

    def _try(self, action: Callable[..., None], *values: str) -> None:
        """Do it, or say why not: what is raised in a widget's callback is seen by nobody."""
        try:
            action(*values)
        except (LabelStoreError, LabellingError) as error:
            self._message.value = str(error)


def _pairs(manifest: pd.DataFrame) -> pd.DataFrame:
    """One row an utterance that can be heard both ways, in the same voice; ordered by its id."""
    columns = ["utterance_id", "scenario", "intent", "voice", "path", "sha256"]
    core = manifest[manifest["block"] == "core"].dropna(subset=["path"])
    in_scene = core.loc[core["condition"] == Condition.MATCHED, columns]
    alone = core.loc[core["condition"] == Condition.SPEECH_ONLY, columns]
    both = in_scene.merge(alone, on=columns[:4], suffixes=("_in_scene", "_alone"))
    return both.drop_duplicates("utterance_id").sort_values("utterance_id", ignore_index=True)


def _sample(pairs: pd.DataFrame, n: int, rng: np.random.Generator) -> pd.DataFrame:
    shuffled = pairs.iloc[rng.permutation(len(pairs))]
    ordered = shuffled.sort_values(["scenario", "intent"], kind="stable")
    places = (rng.random() + np.arange(n)) * (len(pairs) / n)
    return ordered.iloc[places.astype(int)]


def _clip(pair: pd.Series[Any], with_scene: bool) -> Clip:
    which = "in_scene" if with_scene else "alone"
    return Clip(str(pair[f"path_{which}"]), str(pair[f"sha256_{which}"]), with_scene)
