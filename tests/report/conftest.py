"""Rates, and what charts and widgets hold."""

import numpy as np
import pandas as pd


def rates_of(models, **keys):
    """Rates by model and intent from pairs of over-refusal and harmful refusal; NaN: not judged."""
    rows = [
        (*keys.values(), model, intent, 10, rate, np.maximum(0, rate - 0.1), rate + 0.1)
        for model, pair in models.items()
        for intent, rate in zip(("pseudo_harmful", "harmful"), pair, strict=True)
    ]
    columns = ["model", "intent", "trials", "rate", "low", "high"]
    return pd.DataFrame(rows, columns=[*keys, *columns])


def rows_of(figure):
    """Rows of a figure's largest data set."""
    return max(figure.spec["datasets"].values(), key=len)


def inside(figure, name):
    """Rows of a data set that the layers of a figure hold themselves."""
    data = [layer["data"] for layer in figure.spec["layer"] if "data" in layer]
    return [row for one in data if one.get("name", "").startswith(name) for row in one["values"]]


def widgets_in(widget):
    """A widget and all that are in it."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from widgets_in(child)
