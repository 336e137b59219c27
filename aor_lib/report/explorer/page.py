"""The explorer as a page of the book: its data as scripts, which also load from a file.

``index.js`` holds what stimuli are chosen by. The cards are in parts of bounded size, each loaded
when one of its cards is to be shown, so that the first load stays small however much was answered.
What is in them is JSON, so that no answer can be anything but text.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aor_lib.config.records import Stimulus
from aor_lib.judge import DEFAULT_JUDGE
from aor_lib.report.explorer.cards import Answer, Facet, card, facets, load_answers, values
from aor_lib.report.explorer.waveform import outline
from aor_lib.report.listening import Html
from aor_lib.stimuli.manifest import load_stimuli

FOLDER = "explorer"
"""Where the data lie, in the study's folder and beside the book's pages."""

_PART_BYTES = 16_384
_NOT_ASKED = "-"


def write_page(build: Path | str, clip_url: str, judge: str = DEFAULT_JUDGE) -> Html:
    """Write the explorer's data into the folder ``explorer`` of a study.

    Parameters
    ----------
    build
        Folder of the study; what an earlier call wrote there is replaced.
    clip_url
        Address of the folder of clips, as seen from the page.

    Returns
    -------
    The place on the page where the book's script sets up the explorer.

    Raises
    ------
    FileNotFoundError
        The data, a clip of it, or the answers have not been made; the message says how.
    """
    build = Path(build)
    stimuli, answers = load_stimuli(build), load_answers(build, judge)
    folder = build / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    starts: list[int] = []
    for start, part in _parts(_cards(stimuli, answers, build)):
        _write(folder, f"part-{len(starts)}", f"[{','.join(part)}]")
        starts.append(start)
    content = _index(stimuli, answers) | {"parts": starts, "clips": clip_url.rstrip("/")}
    _write(folder, "index", _json(content))
    return Html(
        f'<div class="aor-explorer" data-source="{FOLDER}/"><p>The explorer is part of the built '
        'book and needs scripts. Without them, <a href="dataset.html">the data set</a> has clips '
        "to listen to.</p></div>"
    )


def _cards(
    stimuli: Sequence[Stimulus], answers: Mapping[str, Sequence[Answer]], build: Path
) -> Iterator[str]:
    """Each card and its sound's outline as JSON, in the stimuli's order."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # decoding leaves the interpreter's lock
        paths = (build / one.path if one.path else None for one in stimuli)
        outlines = pool.map(lambda path: outline(path) if path else None, paths)
        for stimulus, levels in zip(stimuli, outlines, strict=True):
            shown = card(stimulus, answers.get(stimulus.stimulus_id, ()))
            yield _json(asdict(shown) | {"outline": levels})


def _parts(cards: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Cards in runs of bounded size, each with the position of its first."""
    start, size, part = 0, 0, list[str]()
    for position, one in enumerate(cards):
        if part and size + len(one) > _PART_BYTES:
            yield start, part
            start, size, part = position, 0, []
        part.append(one)
        size += len(one)
    if part:
        yield start, part


def _index(stimuli: Sequence[Stimulus], answers: Mapping[str, Sequence[Answer]]) -> dict[str, Any]:
    own, of_answers = facets(stimuli, answers)
    chosen_by = [values(stimulus) for stimulus in stimuli]
    # An id begins with the utterance's: apart, both repeat, and each is written once.
    rests = [one.stimulus_id.removeprefix(one.utterance_id) for one in stimuli]
    heads = [
        one.stimulus_id[: len(one.stimulus_id) - len(rest)]
        for one, rest in zip(stimuli, rests, strict=True)
    ]
    return {
        "text": _coded([stimulus.text for stimulus in stimuli]),
        "id": [_coded(heads), _coded(rests)],
        "facets": [
            _titled(facet) | {"codes": _codes(facet, [value[facet.name] for value in chosen_by])}
            for facet in own
        ],
        "answerFacets": [_titled(facet) for facet in of_answers],
        "arms": _arms(stimuli, answers, *of_answers),
    }


def _arms(
    stimuli: Sequence[Stimulus],
    answers: Mapping[str, Sequence[Answer]],
    models: Facet,
    mitigations: Facet,
    labels: Facet,
) -> list[dict[str, Any]]:
    """What became of each stimulus under each model and mitigation: a digit for each."""
    digits = {outcome: str(code) for code, outcome in enumerate(labels.titles)}
    outcomes: dict[tuple[str, str], list[str]] = {}
    for position, stimulus in enumerate(stimuli):
        for answer in answers.get(stimulus.stimulus_id, ()):
            arm = outcomes.setdefault(
                (answer.model, answer.mitigation), [_NOT_ASKED] * len(stimuli)
            )
            arm[position] = digits[answer.outcome]
    return [
        {
            "codes": [list(models.titles).index(model), list(mitigations.titles).index(mitigation)],
            "outcomes": "".join(arm),
        }
        for (model, mitigation), arm in outcomes.items()
    ]


def _titled(facet: Facet) -> dict[str, Any]:
    return {
        "name": facet.name,
        "title": facet.title,
        "values": list(facet.titles),
        "titles": list(facet.titles.values()),
    }


def _codes(facet: Facet, column: Sequence[str]) -> list[int]:
    positions = {value: position for position, value in enumerate(facet.titles)}
    return [positions[value] for value in column]


def _coded(column: Sequence[str]) -> dict[str, Any]:
    """A column as its different values, and the position of each row's among them."""
    positions: dict[str, int] = {}
    codes = [positions.setdefault(value, len(positions)) for value in column]
    return {"values": list(positions), "codes": codes}


def _json(content: object) -> str:
    return json.dumps(content, separators=(",", ":"))


def _write(folder: Path, name: str, content: str) -> None:
    (folder / f"{name}.js").write_text(
        f'aorExplorer.receive("{name}",{content})\n', encoding="ascii"
    )
