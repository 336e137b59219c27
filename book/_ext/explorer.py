"""The explorer's data, as scripts that also load from a file.

``index.js`` holds what stimuli are chosen by. The cards are in parts of bounded size, each loaded
when one of its cards is to be shown, so that the first load stays small however much was answered.
They hold JSON, so that no answer can be anything but text.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import soundfile

from aor_lib.config.records import Stimulus
from book._ext.explorer_cards import (
    answered,
    card,
    facets,
    load_answers,
    presets,
    values,
)
from aor_lib.report.display import Html
from aor_lib.report.listening import Answer
from aor_lib.stimuli.manifest import load_stimuli

FOLDER = "explorer"
"""Where the data lie, in the study's folder and beside the book's pages."""

BINS = 96
"""Parts of a clip's outline."""

_PART_BYTES = 16_384
_NOT_ASKED = "-"


def write_page(build: Path | str, clip_url: str) -> Html:
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
        If the data, a clip of it, or the answers have not been made.
    """
    build = Path(build)
    stimuli = load_stimuli(build)
    answers, names = load_answers(build)
    folder = build / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    starts: list[int] = []
    for start, part in _parts(_cards(stimuli, answers, build)):
        _write(folder, f"part-{len(starts)}", f"[{','.join(part)}]")
        starts.append(start)
    content = _index(stimuli, answers, names) | {"parts": starts, "clips": clip_url.rstrip("/")}
    _write(folder, "index", _json(content))
    return Html(
        f'<div class="aor-explorer" data-source="{FOLDER}/"><p>The explorer is part of the built '
        'book and needs scripts. Without them, <a href="dataset.html">the data set</a> has clips '
        "to listen to.</p></div>"
    )


def outline(path: Path) -> str:
    """Peak levels of :data:`BINS` equal parts of a sound file.

    Returns
    -------
    str
        One digit of base 36 per part, in proportion to the loudest part, which is ``z``.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist; run 'aor data' to make it again")
    samples, _ = soundfile.read(path, dtype="float32", always_2d=True)
    peaks = np.abs(samples).max(axis=1)
    starts = np.linspace(0, len(peaks), BINS, endpoint=False, dtype=np.int64)
    levels = np.maximum.reduceat(peaks, starts)
    loudest = levels.max()
    steps = np.rint(levels / loudest * 35) if loudest else np.zeros(BINS)
    return "".join(np.base_repr(int(step), 36) for step in steps).lower()


def _cards(
    stimuli: Sequence[Stimulus],
    answers: Mapping[str, Sequence[Answer]],
    build: Path,
) -> Iterator[str]:
    """Each card and its sound's outline as JSON, in the stimuli's order."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # decoding leaves the interpreter's lock
        paths = (build / one.path if one.path else None for one in stimuli)
        outlines = pool.map(lambda path: outline(path) if path else None, paths)
        for stimulus, levels in zip(stimuli, outlines, strict=True):
            shown = card(stimulus, answers.get(stimulus.stimulus_id, ()))
            yield _json(shown | {"outline": levels})


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


def _index(
    stimuli: Sequence[Stimulus],
    answers: Mapping[str, Sequence[Answer]],
    names: Mapping[str, str],
) -> dict[str, Any]:
    own, of_answers = values(stimuli), answered(stimuli, answers)
    of_stimuli, of_their_answers = facets(own, of_answers, names)
    return {
        "texts": [stimulus.text for stimulus in stimuli],
        "ids": [stimulus.stimulus_id for stimulus in stimuli],
        "utterances": [stimulus.utterance_id for stimulus in stimuli],
        "facets": [facet | {"codes": _codes(facet, own)} for facet in of_stimuli],
        "answerFacets": of_their_answers,
        "arms": _arms(len(stimuli), of_answers, of_their_answers),
        "presets": presets(own, of_answers, names),
    }


def _arms(
    n: int, of_answers: pd.DataFrame, listed: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Codes of each model and mitigation, and a digit per stimulus for each other facet."""
    arms = []
    for _, arm in of_answers.groupby(["model", "mitigation"], sort=False):
        digits = []
        for facet in listed[2:]:
            outcomes = np.full(n, _NOT_ASKED)
            outcomes[arm["position"]] = _codes(facet, arm)
            digits.append("".join(outcomes))
        codes = [_codes(facet, arm.head(1))[0] for facet in listed[:2]]
        arms.append({"codes": codes, "digits": digits})
    return arms


def _codes(facet: Mapping[str, Any], frame: pd.DataFrame) -> list[int]:
    codes: list[int] = pd.Index(facet["values"]).get_indexer(frame[facet["name"]]).tolist()
    return codes


def _json(content: object) -> str:
    return json.dumps(content, separators=(",", ":"))


def _write(folder: Path, name: str, content: str) -> None:
    (folder / f"{name}.js").write_text(
        f'aorExplorer.receive("{name}",{content})\n', encoding="ascii"
    )
