"""Measures and their number formats: shares in percent, differences in percentage points.

Negative numbers have a typographic minus sign, and missing values are shown as a dash.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import pandas as pd

NOTHING = "\N{EN DASH}"


class Measure(NamedTuple):
    """Heading of a measure in tables, its title on an axis, and the scale of its values."""

    heading: str
    about: str
    scale: Literal["share", "points", "number"] = "number"


MEASURES = {
    "rate": Measure("Refused", "Refused", "share"),
    "share": Measure("Share", "Share", "share"),
    "orr": Measure("Over-refusal", "Over-refusal rate (lower is better)", "share"),
    "hrr": Measure("Harmful refusal", "Harmful-refusal rate (higher is better)", "share"),
    "difference": Measure("Difference (points)", "Change in refusal (points)", "points"),
    "d_prime": Measure("d\N{PRIME}", "d\N{PRIME}"),
    "kappa": Measure("Cohen's kappa", "Cohen's kappa"),
}


def measure_of(name: str) -> Measure:
    """Look up the measure of a column; columns not in :data:`MEASURES` are plain numbers."""
    words = name.replace("_", " ")
    words = words[:1].upper() + words[1:]
    return MEASURES.get(name, Measure(words, words))


def signed(number: float, form: str) -> str:
    """Format a number, in a format such as ``+.1f``, with a typographic minus sign."""
    return format(number, form).replace("-", "\N{MINUS SIGN}")


def shown(name: str, value: Any, unit: bool = False) -> str:
    """Format a value of a measure as in tables or, with ``unit``, as in sentences."""
    if pd.isna(value):
        return NOTHING
    scale = measure_of(name).scale
    if scale == "share":
        return f"{value:.1%}"
    if scale == "points":
        return signed(100 * value, "+.1f") + (" points" if unit else "")
    return signed(value, ".2f")


def limits(name: str, columns: Any) -> tuple[str, str]:
    """Columns of a measure's interval: its own, such as ``hrr_low``, or ``low`` and ``high``."""
    own = (f"{name}_low", f"{name}_high")
    return own if own[0] in columns else ("low", "high")


def interval(name: str, row: Mapping[Any, Any]) -> str:
    """Format the interval of a row's estimate, such as '1.0% to 2.0%'; empty if there is none."""
    ends = [row.get(limit) for limit in limits(name, row)]
    return "" if pd.isna(ends).any() else " to ".join(shown(name, end) for end in ends)


def with_interval(name: str, row: Mapping[Any, Any]) -> str:
    """Format a row's estimate, with its interval in parentheses if it has one."""
    reach = interval(name, row)
    return shown(name, row[name]) + (f" ({reach})" if reach else "")


def sample_size(row: Mapping[Any, Any]) -> int | None:
    """Number of utterances, or else of judged answers, behind an estimate; None if unknown."""
    sizes = [row[name] for name in ("utterances", "judged", "n") if name in row]
    return None if not sizes or pd.isna(sizes[0]) else int(sizes[0])
