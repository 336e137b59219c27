"""The explorer in a live notebook: the cards of the book's page, chosen with widgets."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from aor_lib.judge import DEFAULT_JUDGE
from aor_lib.report.explorer.cards import Answer, Card, card, facets, load_answers, matches, shown
from aor_lib.report.explorer.waveform import BINS, outline
from aor_lib.report.style import OUTCOMES, title_of
from aor_lib.stimuli.manifest import load_stimuli


class LiveExplorer:
    """Stimuli of a study to choose, hear and read; show its ``widget`` in a notebook.

    ``search`` and, by the names of facets, ``choices`` are the fields to choose with.

    Parameters
    ----------
    build
        Folder of the study.
    per_page
        Cards that are shown at a time.

    Raises
    ------
    FileNotFoundError
        The data or the answers have not been made; the message says how.
    """

    def __init__(self, build: Path | str, judge: str = DEFAULT_JUDGE, per_page: int = 5) -> None:
        self._build, self._per_page, self._page = Path(build), per_page, 0
        self._stimuli, self._answers = load_stimuli(build), load_answers(build, judge)
        self.search = widgets.Text(description="Search", placeholder="words or an id")
        self.choices = {
            facet.name: widgets.Dropdown(
                options=[("Any", ""), *((title, value) for value, title in facet.titles.items())],
                description=facet.title,
            )
            for some in facets(self._stimuli, self._answers)
            for facet in some
        }
        self._count = widgets.Label()
        self._cards = widgets.VBox()
        self._sound = widgets.Box()
        self._previous, self._next = (
            widgets.Button(description=name) for name in ("Previous", "Next")
        )
        self._previous.on_click(lambda _: self._turn(-1))
        self._next.on_click(lambda _: self._turn(1))
        for field in (self.search, *self.choices.values()):
            field.observe(lambda _: self._choose(), names="value")
        self.widget = widgets.VBox(
            [
                widgets.Box([self.search, *self.choices.values()], layout={"flex_flow": "wrap"}),
                widgets.HBox([self._previous, self._next, self._count]),
                self._sound,
                self._cards,
            ]
        )
        self._choose()

    @property
    def chosen(self) -> list[str]:
        """Ids of the stimuli that are chosen, in their order."""
        return [stimulus.stimulus_id for stimulus in self._found]

    def play(self, path: str) -> None:
        """Play a sound file of the study, in place of what was played before."""
        for old in self._sound.children:
            old.close()
        try:
            content = (self._build / "clips" / path).read_bytes()
        except OSError as error:  # what is raised in a widget's callback is seen by nobody
            self._sound.children = [widgets.Label(f"{path}: {error.strerror}; run 'aor data'")]
            return
        kind = Path(path).suffix.removeprefix(".")
        player = widgets.Audio(value=content, format=kind, autoplay=True, loop=False)
        self._sound.children = [player]

    def _choose(self) -> None:
        values = self._values()
        self._found = [
            stimulus
            for stimulus in self._stimuli
            if matches(stimulus, self._of(stimulus.stimulus_id), values, self.search.value)
        ]
        self._page = 0
        self._show()

    def _turn(self, by: int) -> None:
        self._page += by
        self._show()

    def _show(self) -> None:
        first = self._page * self._per_page
        last = min(first + self._per_page, len(self._found))
        self._previous.disabled, self._next.disabled = not first, last == len(self._found)
        self._count.value = (
            f"{first + 1} to {last} of {len(self._found):,} chosen, "
            f"of {len(self._stimuli):,} stimuli"
            if self._found
            else f"None of {len(self._stimuli):,} stimuli"
        )
        for old in self._cards.children:
            old.close()
        values = self._values()
        self._cards.children = [
            self._view(card(stimulus, shown(self._of(stimulus.stimulus_id), values)))
            for stimulus in self._found[first:last]
        ]

    def _view(self, one: Card) -> widgets.Widget:
        sounds = [turn.path for turn in one.earlier if turn.path] + [one.path] * bool(one.path)
        buttons = []
        for number, path in enumerate(sounds, start=1):
            of = f" turn {number}" if len(sounds) > 1 else ""
            button = widgets.Button(description=f"Play{of}", icon="play")
            button.on_click(lambda _, path=path: self.play(path))
            buttons.append(button)
        levels = outline(self._build / "clips" / one.path) if one.path else None
        return widgets.VBox([widgets.HTML(_html(one, levels)), widgets.HBox(buttons)])

    def _values(self) -> dict[str, str]:
        return {name: field.value for name, field in self.choices.items() if field.value}

    def _of(self, stimulus_id: str) -> tuple[Answer, ...]:
        return self._answers.get(stimulus_id, ())


def _html(one: Card, levels: str | None) -> str:
    facts = "; ".join(f"{name}: {fact}" for name, fact in one.facts.items())
    turns = "".join(f"<p><b>{escape(t.role)}:</b> {escape(t.text)}</p>" for t in one.earlier)
    read = f"<p><b>Read, not heard:</b> {escape(one.read)}</p>" if one.read else ""
    answers = "".join(_answer_html(answer) for answer in one.answers)
    return (
        f"<h4>“{escape(one.text)}”</h4>{turns}{_drawing(levels) if levels else read}"
        f"<p>{escape(facts)}</p><ul>{answers}</ul>"
    )


def _answer_html(answer: Answer) -> str:
    who = answer.model + (
        "" if answer.mitigation == "none" else f", {title_of(answer.mitigation).lower()}"
    )
    colour = OUTCOMES.get(answer.outcome, "inherit")
    heard = f"<br><small>Heard {escape(answer.heard)}</small>" if answer.heard else ""
    text = f"<br>{escape(answer.text)}" if answer.text else ""
    return (
        f'<li><b>{escape(who)}</b> <b style="color: {colour}">'
        f"{escape(title_of(answer.outcome))}</b>{heard}{text}</li>"
    )


def _drawing(levels: str) -> str:
    """The outline of a sound as the book's script draws it."""
    heights: list[Any] = [max(1, int(level, 36)) for level in levels]
    bars = "".join(f"M{i + 0.5} {36 - h}V{36 + h}" for i, h in enumerate(heights))
    return (
        f'<svg viewBox="0 0 {BINS} 72" preserveAspectRatio="none" aria-hidden="true" '
        f'style="height: 3rem; width: 24rem; max-width: 100%">'
        f'<path d="{bars}" stroke="currentColor" stroke-width="0.6"/></svg>'
    )
