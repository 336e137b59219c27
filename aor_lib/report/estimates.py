"""Estimates that show themselves: as a figure, as a table and as sentences."""

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
    """A selection that does not exist, or a column or value that no row has."""


def rows_where(frame: pd.DataFrame, values: Mapping[str, Any]) -> pd.DataFrame:
    """Rows whose columns have these values, or one of a list of values each."""
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
"""Columns of a frame that holds two rates a row, and what each is of."""


@dataclass(frozen=True)
class Estimates:
    """Estimates of one measure, with what they are of.

    Parameters
    ----------
    frame
        One row per estimate: keys, measure, 95 % interval (``low`` and ``high``), and numbers of
        trials and utterances. In a trade-off, the rates ``orr`` and ``hrr`` have ``orr_low``...
    keys
        Columns that identify a row, such as ``("model", "level", "baseline")``.
    measure
        Column of the estimate: ``rate``, ``difference``, ``d_prime``, ``kappa``...
    titles
        Titles of the ids among the keys' values.
    about
        What the estimates are of, in words: the title of their axis.
    basis
        ``as judged``, or corrected using human labels, which charts and captions of tables add.
    clips
        Address at which the clips of a row can be heard; empty if there is none.

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
        """Draw the estimates with their intervals: the chart follows from measure and keys.

        Parameters
        ----------
        title
            What was found or is shown, in words.
        x
            A numeric column, such as ``snr_db`` or ``layer``, to draw lines over.
        colour
            Key whose values have a colour each.
        facet
            Key with a figure for each of its values.
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
        """Cells of the table; trials that were not judged are counted where there are any."""
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
        """Text that leads to a row's clips in a table or sentence; of one rate, if it has two."""
        address = self.clips({**row, **TRADE_OFF.get(measure or self.measure, {})})
        return f"[{text}]({address})" if address and text != NOTHING else text

    def sentences(self) -> Prose:
        """Findings of the estimates and of their Holm-adjusted tests at 5 %, in sentences."""
        from aor_lib.report.sentences import sentences

        return sentences(self)

    def _repr_html_(self) -> str:
        shown = self.table()
        return shown.html if isinstance(shown, Html) else f"<p>{escape(str(shown))}</p>"
