"""Background scenes: events on a continuous bed, from a random generator and a sound bank.

A scene is data (params/scenes/ID.yaml, :mod:`aor_lib.config.scene`), made of named sounds where
no recording is at hand.
"""
