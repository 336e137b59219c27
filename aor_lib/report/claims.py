"""Claims of AOR-Bench's abstract, each beside what a build measures and may say of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from aor_lib.analysis.scene_use import ALONE
from aor_lib.analysis.stats import SIGNIFICANCE
from aor_lib.report.figures import signed
from aor_lib.report.listening import Html
from aor_lib.report.markdown import Prose
from aor_lib.report.result_tables import table
from aor_lib.report.style import cell_title, title_of
from aor_lib.report.summaries import use_of_scene

Names = Mapping[str, str]

_WIDESPREAD = "Over-refusal is widespread among twelve models of six families"
_CHANGE = "Change of the refusal rate (points)"
CLAIMS: dict[str, tuple[str, bool, str]] = {
    "clips": (
        "3,000 pseudo-harmful clips in six scenario categories",
        True,
        "Such clips, over benign scenes",
    ),
    "over_refusal": (_WIDESPREAD, True, "Over-refusal rate (%)"),
    "models": ("Over-refusal differs between models", False, "Lowest and highest rate (%)"),
    "scenarios": ("Over-refusal differs between scenarios", False, "Lowest and highest rate (%)"),
    "scene": ("The sounds that make a request harmless are hardly used", False, _CHANGE),
    "emotion": ("The speaker's emotion changes what is refused", False, _CHANGE),
    "gender": ("The speaker's gender changes what is refused", False, _CHANGE),
    "speaking_rate": ("The speaking rate changes what is refused", False, _CHANGE),
    "chain_of_thought": ("Chain-of-thought prompting may lower over-refusal", True, _CHANGE),
    "steering": ("Activation steering may lower over-refusal", True, _CHANGE),
}
"""Claims in our words, whether the abstract makes them, and the quantities that bear on them."""
CHECK = "no audio language model was asked: this checks the instrument alone"
ABSENT = (
    "Not measured in this build, which says nothing here: neither of the instrument nor of audio "
    "language models."
)


def claims(
    measured: Mapping[str, pd.DataFrame], asked: Collection[str], names: Names
) -> Html | Prose:
    """Every claim with what was measured, and what the build may say of it.

    ``measured`` holds, by the ids of :data:`CLAIMS`: ``scenario`` and ``utterance_id`` of clips;
    rates, those that are compared with the ``p_value`` of a test that they are equal; else paired
    differences. ``asked`` are the audio language models of the build.
    """
    scope = f"audio language models asked: {len(asked)}" if asked else CHECK
    rows = []
    for name, (_, _, quantity) in CLAIMS.items():
        frame = _there(measured[name])
        rows.append(
            {
                "Claim": _claim(name),
                "Measured here": quantity,
                "What this build can say": ABSENT if frame.empty else _says(name, frame, names),
            }
        )
    return table(pd.DataFrame(rows), f"Claims, and what this build can say of them; {scope}")


def estimates(measured: Mapping[str, pd.DataFrame], names: Names) -> Html | Prose:
    """The estimates that :func:`claims` rests on, with 95 % intervals, under a fold.

    Of scenarios, and of the models, there are the lowest and the highest rate; of scenes the
    difference of speech alone from the benign scene.
    """
    rows = [
        {
            "Claim": _claim(name),
            "Measured here": quantity,
            "Of": _what(row, names),
            "Estimate (95% interval)": _estimate(row),
        }
        for name, (_, _, quantity) in CLAIMS.items()
        if name != "clips"
        for _, row in _shown(name, _there(measured[name])).iterrows()
    ]
    return table(pd.DataFrame(rows), "The estimates, with 95% intervals", folded=True)


def changes(measured: Mapping[str, pd.DataFrame], names: Names) -> pd.DataFrame:
    """All paired differences among what was measured; ``quantity`` says what is less what."""
    rows = pd.concat([frame for frame in measured.values() if "difference" in frame])
    return rows.assign(quantity=[_sides(row, names) for _, row in rows.iterrows()])


def _says(name: str, frame: pd.DataFrame, names: Names) -> str:
    if name == "clips":
        utterances, scenarios = frame["utterance_id"].nunique(), frame["scenario"].nunique()
        return (
            f"There are {len(frame)} of {utterances} utterances in {scenarios} scenarios, made "
            "anew: clips of the paper were not used."
        )
    if name == "scene":
        verdicts = frame.groupby("model")
        return " ".join(f"{names.get(str(m), str(m))} {use_of_scene(rows)}" for m, rows in verdicts)
    p_value = "p_holm" if "p_holm" in frame else "p_value"
    if p_value not in frame:
        return "Nothing is tested: no rate is the limit of what is widespread."
    tests = frame
    if p_value == "p_value":  # one test of all models, or one for each
        tests = frame[["model", p_value]].drop_duplicates(p_value if name == "models" else "model")
    tested = tests.dropna(subset=[p_value])
    if tested.empty:
        return "Nothing could be tested: there is too little data. There may be a difference."
    told = tested[tested[p_value] < SIGNIFICANCE]
    listed = [] if name == "models" else [_what(row, names) for _, row in told.iterrows()]
    said = [f"A difference is shown in {len(told)} of {len(tested)} tests"]
    said[0] += f": {'; '.join(listed)}." if listed else "."
    if few := len(tests) - len(tested):
        said.append(f"{few} comparisons could not be tested.")
    if len(told) < len(tests):
        said.append("Where none is shown, there may be one.")
    return " ".join(said)


def _claim(name: str) -> str:
    claim, in_abstract, _ = CLAIMS[name]
    return claim if in_abstract else f"{claim} (our question)"


def _there(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.dropna(subset=frame.columns.intersection(["difference", "rate"]))


def _shown(name: str, frame: pd.DataFrame) -> pd.DataFrame:
    if name == "scene":
        return frame[frame["level"] == ALONE]
    if frame.empty or name not in ("models", "scenarios"):
        return frame
    groups = [frame] if name == "models" else [rows for _, rows in frame.groupby("model")]
    ends = pd.concat(rows.sort_values("rate").iloc[[0, -1]] for rows in groups)
    return ends[~ends.index.duplicated()]  # a single one is the lowest and the highest


def _estimate(row: pd.Series[Any]) -> str:
    measure = "difference" if "difference" in row else "rate"
    form = "+.1f" if measure == "difference" else ".1f"
    value, low, high = (signed(100 * row[name], form) for name in (measure, "low", "high"))
    return f"{value} ({low} to {high})"


def _what(row: pd.Series[Any], names: Names) -> str:
    """Model of an estimate, and what it is of."""
    model = cell_title("model", row["model"], names)
    if "level" in row:
        return f"{model}, {_sides(row, names).lower()}"
    return f"{model}, {title_of(row['scenario'], names)}" if "scenario" in row else model


def _sides(row: pd.Series[Any], names: Names) -> str:
    sides = (
        f"{title_of(row['level'], names)} \N{MINUS SIGN} {title_of(row['baseline'], names).lower()}"
    )
    return f"{title_of(row['intent'], names)}: {sides}" if pd.notna(row.get("intent")) else sides
