"""The loop in which a person labels one thing after another, by buttons or by keys.

A session is blind and can be left at any time: it goes on where it was. What is labelled, how it
is shown and where the label is kept is a subclass' affair.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import ipywidgets as widgets

from aor_lib.config.errors import AorError
from aor_lib.report.annotation.store import LabelStoreError

SHORTEST_LOOK_S = 1.0
"""Keys are ignored this long after an item appears, so that a key held down labels nothing."""

_BACK, _AGAIN = "z", " "

Item = TypeVar("Item")


class LabellingError(AorError, ValueError):
    """A session that cannot be held; the message is one line and says what to do."""


class LabellingSession(ABC, Generic[Item]):
    """One person's session; show its ``widget`` in a notebook.

    Parameters
    ----------
    items
        What is to be labelled, in its order.
    done
        Those that have this person's label already; they are not asked again.
    clock
        Gives a time in seconds that never goes back.
    """

    QUESTION: ClassVar[str]
    CHOICES: ClassVar[Mapping[str, str]]
    """Label by key: each gets a button, named by ``TITLES`` or else by the label itself."""
    TITLES: ClassVar[Mapping[str, str]] = {}
    AGAIN: ClassVar[str | None] = None
    """Name of the button (and of the space key) that presents an item again, if there is one."""
    TOO_SOON: ClassVar[str]
    """What a key is answered with before anyone can have taken in what it would label."""

    def __init__(
        self, items: Sequence[Item], done: set[Item], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.items, self._done = items, done
        self._clock, self._position = clock, 0
        self._lock = threading.RLock()  # JupyterLab may run each widget's events in its own thread
        self._stage = widgets.Box()
        self._progress, self._message = widgets.Label(), widgets.Label()
        # Keys typed into a field reach the kernel in every frontend and never run its shortcuts.
        keys = [*self.CHOICES, *(["space"] if self.AGAIN else []), _BACK]
        self._keys = widgets.Text(
            placeholder=f"click here for the keys {', '.join(keys)}",
            layout=widgets.Layout(width="22em"),
        )
        self._keys.observe(self._on_key, names="value")
        labels = [
            self._button(self.TITLES.get(label, label.title()), key, self.choose, label)
            for key, label in self.CHOICES.items()
        ]
        again = [self._button(self.AGAIN, "space", self.present)] if self.AGAIN else []
        self.widget = widgets.VBox(
            [
                self._progress,
                self._stage,
                widgets.Label(self.QUESTION),
                widgets.HBox(labels),
                widgets.HBox([*again, self._button("Back", _BACK, self.back), self._keys]),
                self._message,
            ]
        )
        self._go_to_next()

    @abstractmethod
    def view(self, item: Item) -> widgets.Widget:
        """What the person sees or hears of ``item``: nothing that would give it away."""

    @abstractmethod
    def keep(self, item: Item, label: str) -> None:
        """Keep a label for good."""

    @property
    def current(self) -> Item | None:
        """The item to be labelled; None at the end."""
        return self.items[self._position] if self._position < len(self.items) else None

    def choose(self, label: str) -> None:
        """Keep a label (a value of ``CHOICES``) of the current item; go on."""
        if (item := self.current) is None:
            return
        self.keep(item, label)
        self._done.add(item)
        self._go_to_next()

    def back(self) -> None:
        """Return to the item before, whose label the next choice replaces."""
        self._position = max(0, self._position - 1)
        self._show()

    def present(self) -> None:
        """Put the current item before the person, from its start."""
        for old in self._stage.children:
            old.close()
        self._stage.children = [] if self.current is None else [self.view(self.current)]

    def _go_to_next(self) -> None:
        left = (i for i, item in enumerate(self.items) if item not in self._done)
        self._position = next(left, len(self.items))
        self._show()

    def _show(self) -> None:
        self._shown_s = self._clock()
        self._message.value = ""
        self._progress.value = (
            f"{self._position + 1} of {len(self.items)}"
            if self.current is not None
            else f"All {len(self.items)} are done. Thank you!"
        )
        self.present()

    def _button(
        self, title: str, key: str, action: Callable[..., None], *values: str
    ) -> widgets.Button:
        layout = widgets.Layout(width="auto", min_width="10em")
        button = widgets.Button(description=f"{title} ({key})", layout=layout)

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
        if self.AGAIN and key == _AGAIN:
            self._try(self.present)
        elif key == _BACK:
            self._try(self.back)
        elif key not in self.CHOICES:
            again = [f"space ({self.AGAIN.lower()})"] if self.AGAIN else []
            keys = ", ".join([*self.CHOICES, *again])
            self._message.value = f"The keys are {keys} and {_BACK} (back)."
        elif self._clock() - self._shown_s < SHORTEST_LOOK_S:
            self._message.value = self.TOO_SOON
        else:
            self._try(self.choose, self.CHOICES[key])

    def _try(self, action: Callable[..., None], *values: str) -> None:
        """Do it, or say why not: what is raised in a widget's callback is seen by nobody."""
        try:
            action(*values)
        except (LabelStoreError, LabellingError) as error:
            self._message.value = str(error)
