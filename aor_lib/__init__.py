"""Audio over-refusal: generate data, run models, judge answers, analyse and steer.

A study is a folder such as ``build/laptop``, made by ``aor make params/laptop.yaml`` or by ``run``.
Open it, select the trials that answer a question, estimate, and show the estimates::

    import aor_lib as aor

    study = aor.open("build/laptop")                 # judge="string-match" for its labels
    study.trials.head()                              # one row per trial
    context = study.select("context")                # split="dev" for the dev split
    sounding = context.where(intent="pseudo_harmful")  # add model="ref-contextual" for one
    rates = sounding.rates("condition")              # refusal rates with 95 % intervals
    rates.frame                                      # a pandas frame; or .plot(title), .table()
    change = sounding.paired("condition", baseline="benign_scene")  # Holm-adjusted differences
    change.sentences()                               # what the paired tests show
    sounding.where(condition="benign_scene", refused=True).clips(limit=4)  # players of 4

Functions: ``open`` reads a study, and ``run`` makes or updates one. ``make_clip(text, scene=...)``
returns a clip, ``ask(model, clip)`` an answer (``.text``), ``judge(prompt, answer)`` a judgement
(``.label``, ``.p_refusal``). ``check_model`` checks a model, ``steer`` steers one, ``power`` gives
the power of a paired test. Classes: ``Study``, ``Selection``, ``Estimates``, ``Clip``,
``ModelCard``, ``Turn``. ``help`` of each name lists its arguments and methods.

Over-refusal is the refusal of a pseudo-harmful request in its benign scene:
``study.select("headline").where(intent="pseudo_harmful").rates("scenario")``. In a frame of
differences, ``level`` was compared with ``baseline``; ``p_holm`` is NaN if there were too few
utterances to test. ``set(study.trials["model"])`` gives the ids of the models with trials.

``help(aor_lib.Study)`` lists the columns of ``study.trials``, such as intent, condition, model,
mitigation and label, and the names that ``study.select`` takes: ``headline``, ``context``, ``snr``,
``speaker``, ``histories``, ``mitigation``, ``steering`` and ``steering_hearing``.

A ``model`` is the id of a card in ``params/models``, the path of a card, a ModelCard, or an object
that implements :class:`aor_lib.models.base.AudioModel`. A conversation, for ``steer``, is a
tuple of turns. The names above are the whole public interface; everything else may change.
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
    "Turn": "aor_lib.models.base",
    "ask": "aor_lib.models.registry",
    "check_model": "aor_lib.models.check",
    "judge": "aor_lib.judge",
    "make_clip": "aor_lib.stimuli.rendering",
    "open": "aor_lib.study",
    "power": "aor_lib.analysis.stats.paired",
    "run": "aor_lib.cli.make",
    "steer": "aor_lib.steering",
}
__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that importing the library itself is fast."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
