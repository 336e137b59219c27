"""The reference panel: models whose refusals the project plants, and therefore knows.

All members share one language model and hear alike (:mod:`aor_lib.models.reference.prompt`); each
adds an adapter (:mod:`aor_lib.models.reference.lora`) that was trained
(:mod:`aor_lib.models.reference.training`) on examples (:mod:`aor_lib.models.reference.members`) of
the material in ``params/panel``.
"""
