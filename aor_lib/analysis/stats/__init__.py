"""Refusal rates, d' and paired differences, with intervals; input and output are pandas frames.

Results have one row per trial, with at least ``utterance_id``, ``intent``, ``status`` and
``label``. Rates exclude unjudged answers, but every table counts them
(:func:`aor_lib.analysis.outcomes.counts`). Missing columns, and trials on utterances that were used
for fitting, raise ValueError. Random draws are seeded.
"""
