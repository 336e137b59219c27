"""Refusal rates, their trade-off and what changes them, with honest intervals: pandas in and out.

Every frame of results has one row a trial, with at least ``utterance_id``, ``intent``, ``status``
and ``label``. Failed or missing, blocked, and unjudged answers are in no rate; every table counts
them, and the degenerate answers where the results have ``flags``
(:func:`aor_lib.analysis.stats.trials.counts`). Nothing is reported on utterances that something was
fitted on, where ``fitted_on`` names them (:func:`aor_lib.analysis.stats.trials.check`). What is
estimated by chance draws comes out the same each time.
"""

from aor_lib.analysis.stats.detection import iso_d_prime, signal_detection
from aor_lib.analysis.stats.factors import factor_effects
from aor_lib.analysis.stats.intervals import (
    CONFIDENCE,
    RESAMPLES,
    Floats,
    cluster_bootstrap,
    effective_answers,
    wilson,
)
from aor_lib.analysis.stats.paired import difference_interval, mcnemar_exact, paired_differences
from aor_lib.analysis.stats.refusal_rates import rates
from aor_lib.analysis.stats.sample_size import power, utterances_needed
from aor_lib.analysis.stats.trials import RATE_NAMES, REFUSALS

__all__ = [
    "CONFIDENCE",
    "RATE_NAMES",
    "REFUSALS",
    "RESAMPLES",
    "Floats",
    "cluster_bootstrap",
    "difference_interval",
    "effective_answers",
    "factor_effects",
    "iso_d_prime",
    "mcnemar_exact",
    "paired_differences",
    "power",
    "rates",
    "signal_detection",
    "utterances_needed",
    "wilson",
]
