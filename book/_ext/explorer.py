"""The explorer's data, as scripts: every stimulus of a study, and each model's answer.

Browsers load scripts, but not data, from local files. ``index.js`` holds the columns by which
stimuli are filtered. The cards come in parts of bounded size, each loaded when one of its cards is
shown, so that the first load is small. All content is JSON, so that an answer can only be text.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import soundfile

import aor_lib as aor
from aor_lib.analysis.outcomes import REFUSALS
from aor_lib.config.params import PARAMS
from aor_lib.config.records import Label
from aor_lib.config.typed_yaml import mapping
from aor_lib.report.listening import answer_of, facts
from aor_lib.report.style import OUTCOMES, cell_title, ordered, title_of
from book._ext.clip_links import CHOSEN_BY, UNKNOWN

BINS = 96
"""Number of parts of a clip's outline."""

_PART_BYTES = 16_384
_NOT_ASKED = "-"
_NO_MITIGATION = "none"

_WORDS = mapping(PARAMS / "titles.yaml")["explorer"]
_ARM, _OF_ANSWERS = _WORDS["asked"], _WORDS["answers"]
_FACETS = (*CHOSEN_BY, *_ARM, *_OF_ANSWERS)
_TITLES = _WORDS["values"] | {"label": {outcome: title_of(outcome) for outcome in OUTCOMES}}

_HANDFUL = 12  # cards on a page
_IN_ITS_SCENE = {
    "block": "core",
    "split": "test",
    "intent": "pseudo_harmful",
    "condition": "benign_scene",
    "verdict": "wrong",
}


def write_data(build: Path, folder: Path) -> None:
    """Write the data of a study's explorer.

    Answers to harmful utterances, and what models heard in them, are left out; labels are kept.

    Parameters
    ----------
    build
        Folder of the study.
    folder
        Folder to create.

    Raises
    ------
    FileNotFoundError
        If the study, one of its clips, or its answers do not exist.
    """
    study = aor.open(build)
    stimuli, asked = study.stimuli, study.trials
    trials = _trials(asked[asked["method"] != "probe"], stimuli)
    folder.mkdir(parents=True)
    starts: list[int] = []
    version = hashlib.sha256()
    for start, part in _parts(_cards(stimuli, trials, build)):
        text = f"[{','.join(part)}]"
        _write(folder, f"part-{len(starts)}", text)
        version.update(text.encode())
        starts.append(start)
    parts = {"parts": starts, "version": version.hexdigest()[:12]}
    for number in range(len(starts)):
        (folder / f"part-{number}.js").rename(folder / f"part-{number}-{parts['version']}.js")
    _write(folder, "index", _json(_index(stimuli, trials, study.titles) | parts))


def outline(path: Path) -> str:
    """Peak levels of :data:`BINS` equal parts of a sound file.

    Returns
    -------
    str
        One base-36 digit per part, in proportion to the loudest part, which is ``z``.

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


def _trials(trials: pd.DataFrame, stimuli: pd.DataFrame) -> pd.DataFrame:
    """Trials with the answers to show and their facets.

    ``position`` is the row of the stimulus; ``elsewhere`` tells whether the model answers the same
    request in all, some or none of its other forms, or is ``unknown`` from their verdicts.
    """
    answers = [answer_of(row) for row in trials.to_dict("records")]
    trials = trials.assign(
        answer=pd.Series(answers, index=trials.index, dtype=object),
        label=[answer["outcome"] for answer in answers],
        verdict=[answer["verdict"] for answer in answers],
        position=pd.Index(stimuli["stimulus_id"]).get_indexer(trials["stimulus_id"]),
    )
    refused, answered = trials["label"].isin(REFUSALS), trials["label"].eq(Label.FULL_COMPLIANCE)
    form_of = [trials[name] for name in ("utterance_id", *_ARM)]
    others = trials.groupby(form_of)["label"].transform("size") - 1
    others_refused, others_answered = (
        column.groupby(form_of).transform("sum") - column for column in (refused, answered)
    )
    return trials.assign(
        refused=np.select([refused, answered], ["refused", "answered"], "neither"),
        elsewhere=np.select(
            [
                others == 0,
                others_answered == others,
                others_refused == others,
                others_refused * others_answered > 0,
            ],
            ["unknown", "everywhere", "nowhere", "somewhere"],
            "unknown",
        ),
    )


def _cards(stimuli: pd.DataFrame, trials: pd.DataFrame, build: Path) -> Iterator[str]:
    """Cards as JSON, each with the outline of its sound, in the order of the stimuli."""
    answers = trials.groupby("position")["answer"].agg(list)
    stimuli = stimuli.astype(object).where(stimuli.notna(), None)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # decoding releases the GIL
        outlines = pool.map(lambda path: outline(build / path) if path else None, stimuli["path"])
        rows: Any = stimuli.to_dict("records")
        for position, (row, levels) in enumerate(zip(rows, outlines, strict=True)):
            yield _json(
                {name: row[name] for name in ("stimulus_id", "utterance_id", "text", "path")}
                | {
                    "facts": facts(row),
                    "duration_s": row["duration_s"],
                    "read": None if row["path"] else row["presented_text"] or row["text"],
                    "earlier": json.loads(row["history"]),
                    "answers": answers.get(position, []),
                    "outline": levels,
                }
            )


def _parts(cards: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Cards in parts of bounded size, each with the position of its first card."""
    start, size, part = 0, 0, list[str]()
    for position, card in enumerate(cards):
        if part and size + len(card) > _PART_BYTES:
            yield start, part
            start, size, part = position, 0, []
        part.append(card)
        size += len(card)
    if part:
        yield start, part


def _index(
    stimuli: pd.DataFrame, trials: pd.DataFrame, titles: Mapping[str, str]
) -> dict[str, Any]:
    own = stimuli[list(CHOSEN_BY)].astype(object)
    own = own.where(own.notna(), UNKNOWN)
    headings = {name: _WORDS["columns"].get(name, title_of(name)) for name in CHOSEN_BY}
    of_stimuli = [_facet(name, title, own, titles) for name, title in headings.items()]
    asked = _ARM | _OF_ANSWERS
    of_answers = [_facet(name, title, trials, titles) for name, title in asked.items()]
    return {
        "texts": list(stimuli["text"]),
        "ids": list(stimuli["stimulus_id"]),
        "utterances": list(stimuli["utterance_id"]),
        "facets": [facet | {"codes": _codes(facet, own)} for facet in of_stimuli],
        "answerFacets": of_answers,
        "arms": _arms(len(stimuli), trials, of_answers),
        "presets": _presets(trials, titles),
    }


def _facet(name: str, title: str, frame: pd.DataFrame, titles: Mapping[str, str]) -> dict[str, Any]:
    """A column to filter by: its values with their titles, and the default choice."""
    present = sorted(set(frame[name]), key=lambda value: (isinstance(value, str), value))
    if name in _TITLES:
        values = [value for value in _TITLES[name] if value in present]
        values += [value for value in present if value not in values]
    else:
        values = ordered(present, titles)
    of = {**titles, UNKNOWN: _WORDS["nothing"].get(name, "Unknown"), **_TITLES.get(name, {})}
    return {
        "name": name,
        "title": title,
        "default": _NO_MITIGATION if name == "mitigation" else "any",
        "values": [str(value) for value in values],
        "titles": [cell_title(name, value, of) for value in values],
    }


def _arms(
    n: int, trials: pd.DataFrame, listed: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Codes of each model and mitigation, and a digit per stimulus for each other facet."""
    by_name = {facet["name"]: facet for facet in listed}
    arms = []
    for _, arm in trials.groupby(list(_ARM), sort=False):
        digits = []
        for name in _OF_ANSWERS:
            outcomes = np.full(n, _NOT_ASKED)
            outcomes[arm["position"]] = _codes(by_name[name], arm)
            digits.append("".join(outcomes))
        codes = [_codes(by_name[name], arm.head(1))[0] for name in _ARM]
        arms.append({"codes": codes, "digits": digits})
    return arms


def _presets(trials: pd.DataFrame, titles: Mapping[str, str]) -> list[dict[str, str]]:
    """Title and link of an example of each kind of mistake, from the core design on ``test``.

    It is the model, or else the model in one scenario, with the most mistakes that fit on a page.
    """
    unmitigated = trials[trials["mitigation"] == _NO_MITIGATION]
    presets = []
    for title, mistake in _WORDS["mistakes"].items():
        wished = _IN_ITS_SCENE | mistake
        made = unmitigated[(unmitigated[list(wished)] == pd.Series(wished)).all(axis=1)]
        for by in (["model"], ["model", "scenario"]):
            counts = made.value_counts(by)
            counts = counts[counts <= _HANDFUL]
            if counts.empty:
                continue
            where = dict(zip(by, counts.index[0], strict=True))
            model, *scenario = (title_of(value, titles) for value in where.values())
            extent = ", ".join([*scenario, str(counts.iloc[0])])
            # In the order in which the page's script writes its links.
            choice = {name: (where | wished).get(name) for name in _FACETS}
            link = urlencode({name: value for name, value in choice.items() if value})
            presets.append({"title": f"{model} {title} ({extent})", "link": link})
            break
    return presets


def _codes(facet: Mapping[str, Any], frame: pd.DataFrame) -> list[int]:
    values = frame[facet["name"]].astype(str)
    codes: list[int] = pd.Index(facet["values"]).get_indexer(values).tolist()
    return codes


def _json(content: object) -> str:
    return json.dumps(content, separators=(",", ":"))


def _write(folder: Path, name: str, content: str) -> None:
    script = f'aorExplorer.receive("{name}",{content})\n'
    (folder / f"{name}.js").write_text(script, encoding="ascii")
