"""The widget in which a person annotates one item after another, by buttons or by keys.

A session is blind, and can be left at any time: it resumes where it was.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd

from aor_lib.report.annotation.store import (
    AnnotationError,
    Task,
    check_annotator,
    load_annotations,
    record_annotation,
)
from aor_lib.report.display import Prose, paragraph

SHORTEST_LOOK_S = 1.0
"""Keys are ignored this long after an item appears, so that a key held down labels nothing."""


class AnnotationSession:
    """One annotator's session on ``items``, in their order; show its ``widget`` in a notebook.

    Items go by their sha256: each makes a widget that gives nothing else away. Each label is kept
    in the study's folder at once; what has this annotator's label is not asked again.
    """

    def __init__(
        self,
        build: Path | str,
        task: Task,
        annotator: str,
        items: Mapping[str, Callable[[], widgets.Widget]],
    ) -> None:
        self._build, self._task, self._annotator = build, task, annotator
        self._items, self._order = items, list(items)
        self._position = 0
        earlier = load_annotations(build, task)
        self._labelled = set(earlier.loc[earlier["annotator"] == annotator, "item_sha256"])
        self._lock = threading.RLock()  # JupyterLab may run each widget's events in its own thread
        self._stage = widgets.Box()
        self._progress, self._message = widgets.Label(), widgets.Label()
        # Keys typed into a field reach the kernel in every frontend and never run its shortcuts.
        self._keys = widgets.Text(
            placeholder=f"click here for the keys {', '.join(task.labels)}",
            layout=widgets.Layout(width="22em"),
        )
        self._keys.observe(self._on_key, names="value")
        choices = [
            self._button(f"{task.titles[label]} ({key})", self.choose, label)
            for key, label in task.labels.items()
        ]
        controls: list[widgets.Widget] = [self._button("Back (z)", self.back), self._keys]
        if task.replay:
            controls.insert(0, self._button(f"{task.replay} (space)", self.present))
        question = widgets.Label(task.question)
        rows = [question, widgets.HBox(choices), widgets.HBox(controls)]
        self.widget = widgets.VBox([self._progress, self._stage, *rows, self._message])
        self._go_to_next()

    @property
    def current(self) -> str | None:
        """Sha256 of the item to be annotated; None at the end."""
        return self._order[self._position] if self._position < len(self._order) else None

    def choose(self, label: str) -> None:
        """Keep a label of the current item and go on to the next."""
        if self.current is not None:
            record_annotation(self._build, self._task, self._annotator, self.current, label)
            self._labelled.add(self.current)
            self._go_to_next()

    def back(self) -> None:
        """Return to the item before, whose label the next choice replaces."""
        self._position = max(0, self._position - 1)
        self._show()

    def present(self) -> None:
        """Put the current item before the annotator, from its start."""
        for old in self._stage.children:
            old.close()
        self._stage.children = [] if self.current is None else [self._items[self.current]()]

    def _go_to_next(self) -> None:
        left = (i for i, item in enumerate(self._order) if item not in self._labelled)
        self._position = next(left, len(self._order))
        self._show()

    def _show(self) -> None:
        self._shown_s = time.monotonic()
        self._message.value = ""
        self._progress.value = (
            f"All {len(self._order)} are done. Thank you!"
            if self.current is None
            else f"{self._position + 1} of {len(self._order)}"
        )
        self.present()

    def _button(self, title: str, action: Callable[..., None], *values: str) -> widgets.Button:
        layout = widgets.Layout(width="auto", min_width="10em")
        button = widgets.Button(description=title, layout=layout)

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
        replay = self._task.replay
        if replay and key == " ":
            self._try(self.present)
        elif key == "z":
            self._try(self.back)
        elif key not in self._task.labels:
            also = f", space ({replay.lower()})" if replay else ""
            self._message.value = f"The keys are {', '.join(self._task.labels)}{also} and z (back)."
        elif time.monotonic() - self._shown_s < SHORTEST_LOOK_S:
            self._message.value = self._task.too_soon
        else:
            self._try(self.choose, self._task.labels[key])

    def _try(self, action: Callable[..., None], *values: str) -> None:
        """Act, or show why not: nobody sees what a widget's callback raises."""
        try:
            action(*values)
        except AnnotationError as error:
            self._message.value = str(error)


def session_view(session: AnnotationSession | None) -> widgets.Widget | Prose:
    """The widget of a session, or a sentence where no annotator is named."""
    if session is None:
        return paragraph("No annotator is named, so no session is shown.")
    return session.widget


def finished_annotations(
    build: Path | str, task: Task, session: AnnotationSession | None
) -> pd.DataFrame:
    """All annotations of a task; none while ``session`` lasts.

    Its annotator must not learn what others said.
    """
    annotations = load_annotations(build, task)
    return annotations if session is None or session.current is None else annotations.head(0)


def systematic_sample(
    frame: pd.DataFrame, by: list[str], n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Sample ``n`` rows at equal steps in the order of ``by``, at random within.

    Every row is equally likely, and each group gets its share to within one (W. G. Cochran,
    "Sampling Techniques", 3rd ed., 1977, chapter 8).
    """
    shuffled = frame.iloc[rng.permutation(len(frame))]
    ordered = shuffled.sort_values(by, kind="stable")
    places = (rng.random() + np.arange(n)) * (len(frame) / n)
    return ordered.iloc[places.astype(int)]


def annotator_rng(seed: int, annotator: str) -> np.random.Generator:
    """A generator of an annotator's own; raises ``AnnotationError`` on an unusable pseudonym."""
    check_annotator(annotator)
    digest = hashlib.sha256(annotator.encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
