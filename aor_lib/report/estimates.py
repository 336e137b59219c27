"""Estimates that show themselves: as a figure, as a table and as sentences.

:class:`Estimates` is what every method of a selection returns. Its frame holds one estimate a row;
which columns identify a row, and what the estimate is of, travel with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import pandas as pd

from aor_lib.config.typed_yaml import did_you_mean
from aor_lib.report.display import Figure, Figures, Html, Prose, nothing_for, table
from aor_lib.report.measures import measure_of, sample_size, shown, with_interval
from aor_lib.report.style import cell_title, ordered, title_of

TRADE_OFF = ("orr", "hrr")
"""Columns of a frame that holds two rates a row: over-refusal and harmful refusal."""


@dataclass(frozen=True)
class Estimates:
    """Estimates of one measure, with what they are of.

    Parameters
    ----------
    frame
        One row per estimate: the keys, the measure, its 95 % interval ``low`` and ``high``, and
        the numbers of trials and utterances that it rests on. Where a row has two rates, over-
        refusal ``orr`` and harmful refusal ``hrr``, their intervals are ``orr_low`` and so on.
    keys
        Columns that identify a row, such as ``("model", "level", "baseline")``.
    measure
        Column of the estimate: ``rate``, ``difference``, ``d_prime``, ``kappa``, ``count``...
    titles
        Titles of the ids among the keys' values, as of :func:`aor_lib.report.style.titles`.
    about
        What the estimates are of, in words: the title of their axis.

    Examples
    --------
    >>> frame = pd.DataFrame(
    ...     {
    ...         "model": ["ref-contextual", "ref-permissive"],
    ...         "rate": [0.7, 0.0],
    ...         "low": [0.5, 0.0],
    ...         "high": [0.8, 0.1],
    ...         "utterances": [30, 30],
    ...     }
    ... )
    >>> rates = Estimates(frame, ("model",), "rate", {"ref-contextual": "Context-aware"})
    >>> print(rates.sentences())
    - **Context-aware:** 70.0% (95% interval 50.0% to 80.0%, n = 30).
    - **ref-permissive:** 0.0% (95% interval 0.0% to 10.0%, n = 30).
    """

    frame: pd.DataFrame
    keys: tuple[str, ...]
    measure: str
    titles: Mapping[str, str] = field(default_factory=dict, repr=False)
    about: str = ""

    def __post_init__(self) -> None:
        """Check that the frame has what it is said to have."""
        missing = [name for name in (*self.keys, self.measure) if name not in self.frame]
        if missing:
            raise ValueError(f"estimates without the columns {', '.join(missing)}")

    def where(self, **values: Any) -> Estimates:
        """Keep the estimates whose columns have these values.

        Parameters
        ----------
        values
            By column: a value, or a list of values.

        Raises
        ------
        ValueError
            If there is no such column.

        Examples
        --------
        >>> frame = pd.DataFrame({"model": ["a", "b"], "rate": [0.2, 0.4]})
        >>> Estimates(frame, ("model",), "rate").where(model="b").frame["rate"].tolist()
        [0.4]
        """
        rows = self.frame
        for column, value in values.items():
            if column not in rows:
                raise ValueError(f"where: no column {column!r}{did_you_mean(column, rows)}")
            several = isinstance(value, (list, tuple, set, pd.Series))
            rows = rows[rows[column].isin(value if several else [value])]
        return replace(self, frame=rows)

    def plot(
        self, title: str, x: str | None = None, colour: str | None = None, facet: str | None = None
    ) -> Figure | Figures | Prose:
        """Draw the estimates with their intervals.

        Two rates a row are points in the plane of over-refusal and harmful refusal; counts are
        stacked bars; one colour and two other keys of at least three values each are a heat map;
        anything else is a forest plot, or lines over ``x``.

        Parameters
        ----------
        title
            What was found or is shown, in words.
        x
            A numeric column, such as ``snr_db`` or ``layer``, to draw lines over.
        colour
            Key whose values have a colour each: the model, and of counts the last key.
        facet
            Key with a figure for each of its values.

        Raises
        ------
        ValueError
            If ``x``, ``colour`` or ``facet`` is no column.

        Examples
        --------
        >>> frame = pd.DataFrame({"model": ["a"], "rate": [0.2], "low": [0.1], "high": [0.4]})
        >>> Estimates(frame, ("model",), "rate").plot("Refused in the benign scene").description
        '1 estimate with 95% intervals, from 20.0% to 20.0%.'
        """
        from aor_lib.report import plots  # altair takes a second to import

        for name, column in {"x": x, "colour": colour, "facet": facet}.items():
            if column is not None and column not in self.frame:
                raise ValueError(f"{name}: no column {column!r}{did_you_mean(column, self.frame)}")
        if facet is None or self.frame.empty:
            return plots.draw(self, title, x, colour)
        titled = {
            value: f"{title}: {cell_title(facet, value, self.titles)}"
            for value in ordered(self.frame[facet], self.titles)
        }
        return Figures(
            plots.draw(self.where(**{facet: value}), of_value, x, colour)
            for value, of_value in titled.items()
        )

    def table(self, title: str = "") -> Html | Prose:
        """Table of the estimates: their keys, intervals, p values and sample sizes.

        Examples
        --------
        >>> frame = pd.DataFrame({"model": ["<b>"], "rate": [0.2], "low": [0.1], "high": [0.4]})
        >>> "&lt;b&gt;" in Estimates(frame, ("model",), "rate").table().html
        True
        """
        about = self.about or measure_of(self.measure).about
        return nothing_for(title or about) if self.frame.empty else table(self.rows(), title)

    def rows(self) -> pd.DataFrame:
        """Text of the table; trials that were not judged are counted where there are any.

        Examples
        --------
        >>> frame = pd.DataFrame({"model": ["a"], "rate": [0.2], "low": [0.1], "high": [0.4]})
        >>> Estimates(frame, ("model",), "rate").rows().to_dict("records")
        [{'Model': 'a', 'Refused': '20.0% (10.0% to 40.0%)'}]
        """
        frame, records = self.frame, self.frame.to_dict("records")
        columns = {
            title_of(key): [cell_title(key, row[key], self.titles) for row in records]
            for key in self.keys
        }
        for measure in [m for m in TRADE_OFF if m in frame] or [self.measure]:
            columns[measure_of(measure).heading] = [with_interval(measure, row) for row in records]
        if "p_holm" in frame:
            columns["p (Holm)"] = [_p_value(value) for value in frame["p_holm"]]
        sizes = [sample_size(row) for row in records]
        if any(sizes):
            columns["n"] = [shown("count", size) for size in sizes]
        if {"trials", "judged"} <= set(frame) and (frame["judged"] < frame["trials"]).any():
            columns["Not judged"] = [str(number) for number in frame["trials"] - frame["judged"]]
        return pd.DataFrame(columns)

    def sentences(self) -> Prose:
        """What the estimates and their tests show, in sentences; nothing that they do not.

        A difference is significant if its test, Holm-adjusted within its family, rejects at 5 %.

        Examples
        --------
        >>> frame = pd.DataFrame({"model": ["a"], "level": ["noise"], "baseline": ["text_only"]})
        >>> frame = frame.assign(difference=0.1, low=0.0, high=0.3, p_holm=0.4)
        >>> print(Estimates(frame, ("model", "level", "baseline"), "difference").sentences())
        Of 1 tested differences from text only, none is significant (Holm-adjusted). Intervals \
of non-significant differences reach from +0.0 to +30.0 points.
        """
        from aor_lib.report.sentences import sentences

        return sentences(self)

    def _repr_html_(self) -> str:
        shown = self.table()
        return shown.html if isinstance(shown, Html) else f"<p>{escape(str(shown))}</p>"


def _p_value(value: float) -> str:
    if pd.isna(value):
        return "too few"
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"
