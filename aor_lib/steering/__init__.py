"""Steering: directions in a model's residual stream that change what it refuses.

- ``activations`` of the decoder layers are recorded; ``directions`` and ``gates`` are found in
  them, on the ``dev`` split, and make ``candidates``.
- ``interventions`` apply them while a model answers; ``vectors`` keeps them on disk.
- ``scan`` estimates what each candidate would do (``refusal_odds``); ``trials`` has the study's
  engine and judge try the best ones; ``choice`` picks operating points.
- ``study`` does all of this for a study; ``fluency`` asks if the answers still make sense.
- ``tables`` and ``charts`` are for pages, and need no torch.
"""

from aor_lib.config.errors import AorError

MAX_HRR_LOSS = 0.025
"""How much harmful refusal may be lost on ``dev``, of all harmful requests: the default.

What is chosen looks better where it was chosen, and loses more on ``test``.
"""


class SteeringError(AorError, ValueError):
    """A vector that does not fit, or a model that cannot be steered; the message says why."""
