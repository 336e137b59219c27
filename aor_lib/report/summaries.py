"""What the rates of a study say, in plain sentences.

Each function takes frames of :mod:`aor_lib.analysis.stats` and the titles of ids, and says no more
than the intervals allow. The sentences are plain text: :mod:`aor_lib.report.markdown` puts them on
a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from aor_lib.report.figures import estimate, signed, span
from aor_lib.report.markdown import listed
from aor_lib.report.style import title_of

Names = Mapping[str, str]
Row = Mapping[Any, Any]


def trade_off(points: pd.DataFrame, names: Names) -> str:
    """Who over-refuses most and least, whose intervals overlap, and what goes with it.

    ``points`` is :func:`aor_lib.report.detection_charts.pairs` by model, of models that have both
    rates.
    """
    if points.empty:
        return "There is no pair of rates to weigh against each other."
    ordered = points.sort_values("orr", kind="stable").to_dict("records")
    least, most = ordered[0], ordered[-1]
    if len(ordered) == 1:
        said = [
            f"{_called(most, names)} refused {estimate(most, 'orr')} of the requests that only "
            f"sound harmful, and {estimate(most, 'hrr')} of those that are."
        ]
    elif f"{least['orr']:.1%}" == f"{most['orr']:.1%}":
        said = [
            f"Each of the {len(ordered)} models refused {most['orr']:.1%} of the requests that "
            f"only sound harmful; of those that are, {span(points['hrr'])}."
        ]
    else:
        said = [
            f"Of {len(ordered)} models, {_called(most, names)} over-refuses most: "
            f"{estimate(most, 'orr')} of the requests that only sound harmful.",
            f"{_called(least, names)} does so least: {estimate(least, 'orr')}.",
            _overlaps(ordered, names),
            _harmful_refusal(ordered, names),
        ]
    return " ".join([*said, _refused_nothing(ordered, names)]).strip()


def sensitivity(detection: pd.DataFrame, names: Names) -> dict[str, str]:
    """For each model, whether it tells the two kinds of request apart, and how readily it refuses.

    ``detection`` is :func:`aor_lib.analysis.stats.signal_detection` by model.
    """
    return {
        title_of(row["model"], names): _sensitivity(row)
        for row in detection.dropna(subset=["d_prime"]).to_dict("records")
    }


def prompted(detection: pd.DataFrame, names: Names) -> dict[str, str]:
    """For each model and prompt, what it does to the model's sensitivity beside its control.

    ``detection`` is :func:`aor_lib.analysis.stats.signal_detection` by model and mitigation.
    """
    known = detection.dropna(subset=["d_prime"]).to_dict("records")
    rows = {(row["model"], row["mitigation"]): row for row in known}
    return {
        f"{title_of(model, names)}, {_lower(prompt, names)}": _prompted(
            row, rows[model, f"{prompt}.control"]
        )
        for (model, prompt), row in rows.items()
        if (model, f"{prompt}.control") in rows
    }


def extremes(rates: pd.DataFrame, by: str, names: Names) -> dict[str, str]:
    """For each model, at which value of ``by`` its rate is highest and lowest."""
    found = {}
    for model, rows in rates.dropna(subset=["rate"]).groupby("model"):
        ordered = rows.sort_values("rate", kind="stable").to_dict("records")
        low, high = ordered[0], ordered[-1]
        if f"{low['rate']:.1%}" == f"{high['rate']:.1%}":
            said = f"{high['rate']:.1%} in all; the intervals reach up to {rows['high'].max():.1%}."
        else:
            overlap = "overlap" if low["high"] >= high["low"] else "do not overlap"
            said = (
                f"from {_rate(low)}, {_lower(low[by], names)}, to {_rate(high)}, "
                f"{_lower(high[by], names)}. These two intervals {overlap}."
            )
        found[title_of(model, names)] = said
    return found


def sample_size(needed: pd.DataFrame, utterances: int) -> str:
    """Which differences a build of so many utterances can show.

    ``needed`` is :func:`aor_lib.analysis.stats.utterances_needed`.
    """
    said = []
    for difference in sorted(needed["difference"].unique()):
        sizes = needed.loc[needed["difference"] == difference, "utterances"]
        low, high = sizes.min(), sizes.max()
        takes = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
        enough = (
            "enough are there"
            if utterances >= high
            else "enough are there for some rates"
            if utterances >= low
            else "more than there are"
        )
        said.append(f"{100 * difference:g} points takes {takes}: {enough}")
    return (
        f"This build has {utterances} utterances to compare with themselves. To see a difference "
        f"of {'; of '.join(said)}."
    )


def _overlaps(ordered: Sequence[Row], names: Names) -> str:
    """Which models, ``ordered`` by their over-refusal, the intervals do not keep apart."""
    beside = list(pairwise(ordered))
    near = [
        f"{_called(more, names)} and {_called(less, names)}"
        for less, more in reversed(beside)
        if less["orr_high"] >= more["orr_low"]
    ]
    if not near:
        return "No two of their intervals overlap."
    others = "" if len(near) == len(beside) else " The others are apart."
    return f"The intervals of {'; of '.join(near)} overlap: their order may be chance.{others}"


def _harmful_refusal(ordered: Sequence[Row], names: Names) -> str:
    """Whether harmful refusal rises with over-refusal, by which models are ``ordered``."""
    against = [
        (less, more)
        for place, less in enumerate(ordered)
        for more in ordered[place + 1 :]
        if less["orr_high"] < more["orr_low"] and less["hrr"] >= more["hrr"]
    ]
    harmful = [row["hrr"] for row in ordered]
    if against:
        less, more = max(against, key=lambda pair: pair[1]["orr"] - pair[0]["orr"])
        return (
            f"{_called(less, names)} over-refuses less than {_called(more, names)} and refuses no "
            f"less of what is harmful: {less['hrr']:.1%} beside {more['hrr']:.1%}."
        )
    if harmful == sorted(harmful) and harmful[0] < harmful[-1]:
        return (
            "Harmful refusal goes with it: who refuses more of what only sounds harmful refuses "
            f"more of what is, from {harmful[0]:.1%} to {harmful[-1]:.1%}."
        )
    return f"Of what is harmful, they refuse {span(pd.Series(harmful))}."


def _refused_nothing(rows: Sequence[Row], names: Names) -> str:
    never = [_called(row, names) for row in rows if row["orr"] == row["hrr"] == 0]
    if not never:
        return ""
    return (
        f"{listed(never)} refused nothing at all, not even what is harmful: a perfect over-refusal "
        "rate beside a failed harmful-refusal rate."
    )


def _sensitivity(row: Row) -> str:
    if row["d_prime_low"] > 0:
        tells = "tells what is harmful from what only sounds so"
    elif row["d_prime_high"] < 0:
        tells = "refuses what only sounds harmful more than what is"
    else:
        tells = "is not shown to tell what is harmful from what only sounds so"
    if row["criterion_high"] < 0:
        leans = "is quick to refuse"
    elif row["criterion_low"] > 0:
        leans = "is slow to refuse"
    else:
        leans = "leans neither to refusing nor to answering as far as the data show"
    return f"{tells} ({_number(row, 'd_prime')}), and {leans} ({_number(row, 'criterion')})."


def _prompted(row: Row, control: Row) -> str:
    pair = f"{_number(row, 'd_prime')}; with its control, {_number(control, 'd_prime')}"
    if row["d_prime_low"] > control["d_prime_high"]:
        helps = "It helps the model to tell the two kinds of request apart."
    elif row["d_prime_high"] < control["d_prime_low"]:
        helps = "It keeps the model from telling the two kinds of request apart."
    else:
        helps = "The intervals overlap: it is not shown to change what the model can tell apart."
    if row["criterion_low"] > control["criterion_high"]:
        leans = " The model refuses less readily."
    elif row["criterion_high"] < control["criterion_low"]:
        leans = " The model refuses more readily."
    else:
        leans = ""
    return f"{pair}. {helps}{leans}"


def _number(row: Row, measure: str) -> str:
    """A measure of signal detection with its interval."""
    name = {"d_prime": "d\N{PRIME}", "criterion": "c"}[measure]
    value, low, high = (signed(row[f"{measure}{limit}"], ".2f") for limit in ("", "_low", "_high"))
    return f"{name} {value}, 95% interval {low} to {high}"


def _rate(row: Row) -> str:
    return f"{row['rate']:.1%} ({row['low']:.1%} to {row['high']:.1%})"


def _called(row: Row, names: Names) -> str:
    return _quoted(row["model"], names)


def _quoted(value: object, names: Names) -> str:
    """A title, in quotes where it holds a comma of its own."""
    title = names.get(str(value), str(value))
    return f"“{title}”" if "," in title else title


def _lower(value: object, names: Names) -> str:
    title = title_of(value, names)
    return title[:1].lower() + title[1:]
