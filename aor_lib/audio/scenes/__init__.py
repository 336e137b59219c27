"""Background scenes: a continuous bed and events on top of it, rendered at random.

A scene is data (params/scenes/ID.yaml, :mod:`aor_lib.config.scene`). Its sounds are recordings
from a sound bank or, where the bank has none, synthesised.
"""
