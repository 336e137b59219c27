"""Estimates of a measure, which can be shown as a figure, a table or sentences."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from html import escape
from typing import Any, Self

import pandas as pd

from aor_lib.config.typed_yaml import AorError, did_you_mean
from aor_lib.report.display import Figure, Figures, Html, Prose, nothing_for, table
from aor_lib.report.measures import NOTHING, measure_of, sample_size, shown, with_interval
from aor_lib.report.style import cell_title, ordered, title_of


class SelectionError(AorError, ValueError):
    """Error for a selection that does not exist, or a column or value that no row has."""


def rows_where(frame: pd.DataFrame, values: Mapping[str, Any]) -> pd.DataFrame:
    """Keep the rows whose columns have these values, or any value of a list."""
    for column, value in values.items():
        if column not in frame:
            raise SelectionError(f"where: no column {column!r}{did_you_mean(column, frame)}")
        several = pd.api.types.is_list_like(value)
        kept = frame[frame[column].isin(value if several else [value])]
        if kept.empty and not several:  # a slip of the pen, or else a value without rows
            known = set(frame[column].dropna().astype(str))
            if alike := get_close_matches(str(value), known, cutoff=0.9):
                raise SelectionError(f"where: no {column} {value!r}; did you mean {alike[0]!r}?")
        frame = kept
    return frame


TRADE_OFF = {"orr": {"intent": "pseudo_harmful"}, "hrr": {"intent": "harmful"}}
"""Columns of the two rates of a trade-off, and the intent of the requests behind each."""


@dataclass(frozen=True)
class Estimates:
    """Estimates of one measure, one per row, with the keys and titles that identify them.

    Parameters
    ----------
    frame
        One row per estimate: keys, measure, 95 % interval (``low`` and ``high``), and numbers of
        trials and utterances. A trade-off has ``orr``, ``orr_low``, ``orr_high``, ``hrr``...
    keys
        Columns that identify a row, such as ``("model", "level", "baseline")``.
    measure
        Column of the estimate: ``rate``, ``difference``, ``d_prime``, ``kappa``...
    titles
        Titles of the ids that occur in the key columns.
    about
        Title of the axis of the estimates; if empty, that of the measure.
    basis
        ``as judged`` or ``corrected using human labels``; appended to axis titles and captions.
    clips
        Function that returns the address of a row's clips; empty if there is none.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": ["a"], "rate": [0.7], "low": [0.5], "high": [0.8]})
    >>> print(Estimates(frame, ("model",), "rate", {"a": "Model A"}).sentences())
    - **Model A:** 70.0% (95% interval 50.0% to 80.0%).
    """

    frame: pd.DataFrame
    keys: tuple[str, ...]
    measure: str
    titles: Mapping[str, str] = field(default_factory=dict, repr=False)
    about: str = ""
    basis: str = ""
    clips: Callable[[Mapping[Any, Any]], str] = field(default=lambda row: "", repr=False)

    def where(self, **values: Any) -> Self:
        """Keep the estimates whose columns have these values (a value, or a list of values)."""
        return replace(self, frame=rows_where(self.frame, values))

    def plot(
        self, title: str, x: str | None = None, colour: str | None = None, facet: str | None = None
    ) -> Figure | Figures | Prose:
        """Draw the estimates with their intervals; measure and keys determine the chart type.

        Parameters
        ----------
        title
            The finding, or the content, in words.
        x
            Numeric column for the x axis of a line chart, such as ``snr_db`` or ``layer``.
        colour
            Key whose values are shown in different colours.
        facet
            Key with one figure for each of its values.
        """
        from aor_lib.report import plots  # altair takes a second to import

        for column in (x, colour, facet):
            if column is not None and column not in self.frame:
                raise SelectionError(f"plot: no {column!r}{did_you_mean(column, self.frame)}")
        if facet is None or self.frame.empty:
            return plots.draw(self, title, x, colour)
        figures = []
        for value in ordered(self.frame[facet], self.titles):
            titled = f"{title}: {cell_title(facet, value, self.titles)}"
            figures.append(plots.draw(self.where(**{facet: value}), titled, x, colour))
        return Figures(figures)

    def table(self, title: str = "") -> Html | Prose:
        """Table of the estimates: their keys, intervals, p values and sample sizes."""
        if self.frame.empty:
            return nothing_for(title or self.about or measure_of(self.measure).about)
        return table(self.rows(), f"{title} ({self.basis})" if title and self.basis else title)

    def rows(self) -> pd.DataFrame:
        """Format the cells of the table, with the number of answers not judged, if any."""
        frame, records = self.frame, self.frame.to_dict("records")
        columns = {
            title_of(key): [cell_title(key, row[key], self.titles) for row in records]
            for key in self.keys
        }
        for measure in [m for m in TRADE_OFF if m in frame] or [self.measure]:
            columns[measure_of(measure).heading] = [
                self.linked(with_interval(measure, row), row, measure) for row in records
            ]
        if "labelled" in frame and frame["labelled"].any():
            columns["As judged"] = [shown(self.measure, value) for value in frame["as_judged"]]
            columns["Human labels"] = frame["labelled"].astype(str).tolist()
        if "p_holm" in frame:
            written = frame["p_holm"].map("{:.3f}".format).mask(frame["p_holm"] < 0.001, "< 0.001")
            columns["p (Holm)"] = written.mask(frame["p_holm"].isna(), "not tested").tolist()
        sizes = [sample_size(row) for row in records]
        if any(sizes):
            columns["n"] = [NOTHING if size is None else f"{size:,}" for size in sizes]
        if {"trials", "judged"} <= set(frame) and (frame["judged"] < frame["trials"]).any():
            columns["Answers not judged"] = (frame["trials"] - frame["judged"]).astype(str).tolist()
            if "lowest" in frame:
                columns["Bounds with missing answers"] = [
                    " to ".join(shown(self.measure, row[end]) for end in ("lowest", "highest"))
                    for row in records
                ]
        return pd.DataFrame(columns)

    def linked(self, text: str, row: Mapping[Any, Any], measure: str = "") -> str:
        """Link a text to the clips of a row, or of one ``measure`` of a trade-off."""
        address = self.clips({**row, **TRADE_OFF.get(measure or self.measure, {})})
        return f"[{text}]({address})" if address and text != NOTHING else text

    def sentences(self) -> Prose:
        """State the estimates and the results of their Holm-adjusted 5 % tests in sentences."""
        from aor_lib.report.sentences import sentences

        return sentences(self)

    def _repr_html_(self) -> str:
        shown = self.table()
        return shown.html if isinstance(shown, Html) else f"<p>{escape(str(shown))}</p>"
