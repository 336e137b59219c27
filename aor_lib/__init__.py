"""Audio over-refusal: generate data, run models, judge answers, analyse and steer.

A study is a folder such as ``build/laptop``, made by ``aor make params/laptop.yaml`` or by ``run``.
Open it, select the trials of a question, estimate, and show the estimates::

    import aor_lib as aor

    study = aor.open("build/laptop")                 # judge="string-match": labels of another judge
    study.trials.head()                              # one row per trial
    context = study.select("context")                # split="dev": not the test split
    sounding = context.where(intent="pseudo_harmful")  # model="ref-contextual": one of them
    rates = sounding.rates("condition")              # refusal rates with 95 % intervals
    rates.frame                                      # in pandas; or .plot(title), .table()
    change = sounding.paired("condition", baseline="benign_scene")  # differences, Holm-adjusted
    change.sentences()                               # only what the tests show
    sounding.where(condition="benign_scene", refused=True).clips(limit=4)  # the first 4, to hear

Functions: ``open`` reads a study, and ``run`` makes one: clips, answers, verdicts, steering;
``make_clip(text, scene=...)``, ``ask(model, clip)`` (the answer's ``.text``) and
``judge(prompt, answer)`` (its ``.label`` and ``.p_refusal``) do one thing each; ``check_model``,
``steer`` and ``power``. Classes: ``Study``, ``Selection``, ``Estimates``, ``Clip``, ``ModelCard``,
``Turn``. Their arguments and methods are listed below, or by ``help`` of each name.

Over-refusal is the refusal of a pseudo-harmful request in its benign scene:
``study.select("headline").where(intent="pseudo_harmful").rates("scenario")``. In the frame of a
difference, ``level`` is what was compared with ``baseline``; ``p_holm`` is NaN with too few
utterances. ``set(study.trials["model"])`` are the ids of the models that answered.

``help(aor_lib.Study)`` says which columns ``study.trials`` has, such as intent, condition, model,
mitigation and label, and what ``study.select`` takes: ``headline``, ``context``, ``snr``,
``speaker``, ``histories``, ``mitigation``, ``steering`` and ``steering_hearing``.

``model`` is the id of a card in ``params/models``, the path of a card, a ModelCard, or an object
as in :class:`aor_lib.models.base.AudioModel`. ``steer`` takes lists of conversations, which are
tuples of turns. The names above are the whole public interface; everything else may change.
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
    """Import a public name when it is first used: importing the library itself is quick."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names."""
    return [*__all__, "__version__"]
