"""Audio over-refusal: generate data, run models, judge answers, analyse and steer.

Open a study and look at it::

    import aor_lib as aor

    study = aor.open("build/laptop")
    study.trials.head()                                  # one row per trial
    sounding = study.select("context").where(intent="pseudo_harmful")
    sounding.rates("condition").plot("Refused in each condition")
    change = sounding.paired("condition", baseline="benign_scene")
    change.sentences()

Do things: :func:`make_clip`, :func:`run`, :func:`ask`, :func:`judge`, :func:`steer`,
:func:`check_model`. The names below are the whole public interface.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Clip": "aor_lib.audio.clip",
    "ModelCard": "aor_lib.config.params",
    "Estimates": "aor_lib.report.estimates",
    "Selection": "aor_lib.report.selection",
    "Study": "aor_lib.study",
    "ask": "aor_lib.models.registry",
    "check_model": "aor_lib.models.check",
    "judge": "aor_lib.judge",
    "make_clip": "aor_lib.stimuli.clip",
    "open": "aor_lib.study",
    "power": "aor_lib.analysis.stats",
    "run": "aor_lib.cli.make",
    "steer": "aor_lib.steering",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: importing the library itself is quick."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names."""
    return [*__all__, "__version__"]
