"""The reference panel: models whose refusals the project plants, and therefore knows.

All members share one language model and hear alike (:mod:`aor_lib.panel.told`); each adds an
adapter (:mod:`aor_lib.panel.lora`) that was trained (:mod:`aor_lib.panel.training`) on examples
(:mod:`aor_lib.panel.members`) of the material in ``params/panel``.
"""
