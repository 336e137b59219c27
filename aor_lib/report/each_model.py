"""The same chart for one model after the other."""

from collections.abc import Callable, Mapping

import pandas as pd
from IPython.display import display

from aor_lib.report.drawing import Shown
from aor_lib.report.instrument import title_for
from aor_lib.report.markdown import nothing_for


def for_each_model(
    draw: Callable[..., Shown], table: pd.DataFrame, title: str, names: Mapping[str, str]
) -> None:
    """Display ``draw(rows, title=...)`` of each model's rows, or a note where there are none."""
    if table.empty:
        display(nothing_for(title))
    for model, rows in table.groupby("model"):
        figure_of_model = draw(
            rows, title=title_for(rows, f"{title}: {names.get(str(model), model)}")
        )
        display(figure_of_model)
