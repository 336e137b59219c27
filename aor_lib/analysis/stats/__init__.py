"""Refusal rates, their trade-off and what changes them, with intervals: pandas in and out.

Results have one row per trial, with at least ``utterance_id``, ``intent``, ``status`` and
``label``. Answers that were not judged are in no rate, but every table counts them
(:func:`aor_lib.analysis.outcomes.counts`). Missing columns and trials on utterances that something
was fitted on are a ValueError. Random draws are seeded.
"""
