"""The reference models: local models whose refusals the project trained, and therefore knows.

All share one language model and transcribe alike (:mod:`aor_lib.models.reference.prompt`); each
adds an adapter (:mod:`aor_lib.models.reference.lora`) that was trained
(:mod:`aor_lib.models.reference.training`) on examples (:mod:`aor_lib.models.reference.members`) of
the material in ``params/reference``.
"""
