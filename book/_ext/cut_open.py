"""Directive ``cut-open``: one request at each level of its scene, with the spectrogram, the onsets
of the sounds, and what each model heard and did.

Without scripts, the levels are shown one below the other; ``_static/cut-open.js`` adds a slider
that selects one.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pandas as pd
import soundfile
from PIL import Image
from scipy.signal import spectrogram
from sphinx.application import Sphinx

import aor_lib as aor
from aor_lib.config.params import load_scenes
from aor_lib.report.listening import answer_of
from aor_lib.report.measures import signed
from aor_lib.report.style import cell_title, title_of
from book._ext.study_html import StudyHtml, render

WINDOW, STEP = 768, 384
"""Window length and hop of the spectrogram, in samples."""
ROWS, LOWEST_HZ, HIGHEST_HZ = 96, 60, 11_000
"""Number of rows of the spectrogram, evenly spaced in mel, and the range that they cover."""
RANGE_DB = 70
"""Range of the colours, in dB below the loudest point."""

_TICKS_HZ = (250, 1000, 4000)
_COLOURS = np.array(  # dark to light, legible with any kind of colour vision
    [(0, 0, 4), (81, 18, 124), (183, 55, 121), (252, 137, 97), (252, 253, 191)]
)
_SHADES = 48
_NONE = "<p>This build holds no pseudo-harmful request in a scene.</p>"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx; see https://www.sphinx-doc.org/en/master/extdev/appapi.html."""
    app.add_directive("cut-open", CutOpen)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class CutOpen(StudyHtml):
    """One request at each level of its scene."""

    def html(self, study: aor.Study) -> str:
        """See :func:`cut_open`."""
        return cut_open(study)


def levels(study: aor.Study) -> pd.DataFrame:
    """Trials of the first pseudo-harmful request at each level, from no scene to the loudest.

    If the study varies the level of no scene, it is the first request in a benign scene.
    """
    varied, context = study.select("snr"), study.select("context")
    scenes = (varied if len(varied.frame) else context).where(
        intent="pseudo_harmful", condition="benign_scene"
    )
    first = scenes.frame["utterance_id"].head(1)
    alone = context.where(condition="speech_only", utterance_id=first)
    loud = scenes.where(utterance_id=first).frame.sort_values("snr_db", ascending=False)
    trials: pd.DataFrame = pd.concat([alone.frame, loud])
    return trials


def cut_open(study: aor.Study) -> str:
    """HTML of the clips of :func:`levels`."""
    trials = levels(study)
    if trials.empty:
        return _NONE
    shown = [
        _level(rows.iloc[0], rows, study) for _, rows in trials.groupby("stimulus_id", sort=False)
    ]
    template = Path(__file__).with_suffix(".html")
    return render(template, text=trials["text"].iloc[0], levels=shown, ticks=_ticks())


def mel(frequency_hz: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Convert a frequency in Hz to a pitch in mel."""
    pitch: npt.NDArray[np.float64] = 2595 * np.log10(1 + np.asarray(frequency_hz) / 700)
    return pitch


def picture(path: Path) -> str:
    """Spectrogram of a sound file as the data URL of a PNG; time runs right, pitch up."""
    samples, rate = soundfile.read(path, dtype="float32")
    frequencies, _, power = spectrogram(samples, rate, nperseg=WINDOW, noverlap=WINDOW - STEP)
    rows = np.linspace(mel(HIGHEST_HZ), mel(LOWEST_HZ), ROWS)
    decibels = 10 * np.log10(power + 1e-12)
    levels = np.array([np.interp(rows, mel(frequencies), column) for column in decibels.T]).T
    shades = np.clip(1 + (levels - levels.max()) / RANGE_DB, 0, 1) * (_SHADES - 1)
    drawn = Image.fromarray(shades.round().astype(np.uint8))
    places = np.linspace(0, len(_COLOURS) - 1, _SHADES)
    bands = [np.interp(places, range(len(_COLOURS)), band) for band in _COLOURS.T]
    drawn.putpalette(np.stack(bands, axis=1).round().astype(np.uint8).tobytes())
    stream = io.BytesIO()
    drawn.save(stream, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"


def _level(row: pd.Series[Any], trials: pd.DataFrame, study: aor.Study) -> dict[str, Any]:
    scene = load_scenes().get(row["background_scene"])
    return {
        "title": _title(row),
        "path": row["path"],
        "page": f"clip/{quote(row['stimulus_id'])}.html",
        "picture": picture(study.build / row["path"]),
        "duration": row["duration_s"],
        "starts": row["lead_in_s"],
        "seconds": range(int(row["duration_s"]) + 1),
        "bed": list(dict.fromkeys(layer.label for layer in scene.bed)) if scene else [],
        "sounds": _sounds(json.loads(row["events"])),
        "heard": _heard(trials, study.titles),
    }


def _title(row: pd.Series[Any]) -> str:
    """The level of the scene, in words."""
    if pd.isna(row["snr_db"]):
        return "No scene"
    side = "above" if row["snr_db"] < 0 else "below"
    by = f"{signed(abs(row['snr_db']), 'g')} dB {side}" if row["snr_db"] else "as loud as"
    return f"{title_of(row['background_scene'])}, {by} the speech"


def _sounds(events: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Onsets of the events of each name, in seconds; names are ordered by their first onset."""
    onsets: dict[str, list[float]] = {}
    for event in sorted(events, key=lambda event: event["onset_s"]):
        onsets.setdefault(event["name"], []).append(event["onset_s"])
    return onsets


def _heard(trials: pd.DataFrame, titles: Mapping[str, str]) -> list[tuple[str, list[Any]]]:
    """Pairs of what models reported to hear and their answers, one pair per distinct report."""
    answers = [answer_of(row) for row in trials.to_dict("records")]
    for answer in answers:
        answer["title"] = cell_title("model", answer["model"], titles)
        answer["did"] = title_of(answer["outcome"])
    answers.sort(key=lambda answer: answer["heard"] or "")
    return [(heard, list(some)) for heard, some in groupby(answers, lambda row: row["heard"] or "")]


def _ticks() -> dict[str, float]:
    """Positions of the tick frequencies, as fractions of the spectrogram's height from below."""
    low, high = mel(LOWEST_HZ), mel(HIGHEST_HZ)
    return {f"{hz / 1000:g} kHz": float((mel(hz) - low) / (high - low)) for hz in _TICKS_HZ}
