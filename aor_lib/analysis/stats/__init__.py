"""Refusal rates, their trade-off and what changes them, with intervals: pandas in and out.

Results have one row per trial, with at least ``utterance_id``, ``intent``, ``status`` and
``label``. Answers that were not judged are in no rate, but every table counts them
(:func:`aor_lib.analysis.outcomes.counts`). Missing columns and trials on utterances that something
was fitted on are a ValueError. Random draws are seeded.
"""

from aor_lib.analysis.stats.between_models import groups_differ, model_rates
from aor_lib.analysis.stats.detection import signal_detection
from aor_lib.analysis.stats.hearing import CONTRASTS, hearing_sensitivity
from aor_lib.analysis.stats.intervals import RESAMPLES, cluster_bootstrap, rates, wilson
from aor_lib.analysis.stats.paired import (
    SIGNIFICANCE,
    adjusted,
    difference_interval,
    paired_differences,
)
from aor_lib.analysis.stats.sample_size import power

__all__ = [
    "CONTRASTS",
    "RESAMPLES",
    "SIGNIFICANCE",
    "adjusted",
    "cluster_bootstrap",
    "difference_interval",
    "groups_differ",
    "hearing_sensitivity",
    "model_rates",
    "paired_differences",
    "power",
    "rates",
    "signal_detection",
    "wilson",
]
