"""Audio over-refusal: data generation, inference, judging, steering and statistics.

The modules are small and meant to be read: start with :mod:`aor_lib.config.records`
(the rows that everything exchanges), then :mod:`aor_lib.cli` (one verb per step).
"""

__version__ = "0.1.0"
