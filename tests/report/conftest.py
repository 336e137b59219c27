import itertools

import pandas as pd
import pytest

from aor_lib.report.estimates import Estimates

TITLES = {"ref-contextual": "Context-aware", "evil": "<script>*evil*</script>"}


def estimates_of(measure="rate", titles=TITLES, **keys):
    """Estimates of every combination of the keys' values: 0.3, 0.31, 0.32, ..."""
    frame = pd.DataFrame(list(itertools.product(*keys.values())), columns=list(keys))
    frame[measure] = 0.3 + 0.01 * frame.index
    frame = frame.assign(low=frame[measure] - 0.1, high=frame[measure] + 0.1)
    frame = frame.assign(trials=20, judged=20, refused=6, utterances=10)
    return Estimates(frame, tuple(keys), measure, titles)


@pytest.fixture
def differences():
    """Two models in three conditions against the benign scene: significant, not, and too few."""
    levels = ["speech_only", "neutral_scene", "noise"]
    made = estimates_of("difference", model=[*TITLES], level=levels, baseline=["benign_scene"])
    made.frame["p_holm"] = [0.001, 0.2, None, 0.3, 0.4, 0.5]
    made.frame[["withheld", "intent"]] = False, "pseudo_harmful"
    return made


def marks_of(figure):
    """Kinds of marks in a figure, from the lowest layer on."""
    return [layer["mark"]["type"] for layer in figure.spec.get("layer", [figure.spec])]


def data_of(figure):
    return max(figure.spec["datasets"].values(), key=len)


def widgets_in(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from widgets_in(child)
