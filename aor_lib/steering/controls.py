"""Random controls of the chosen steering, each on the very stimuli that it is itself tried on.

A random direction in the place of the chosen one says what pushing as hard anywhere would do; where
a gate was chosen, a random gate says what steering as many requests, whichever they are, would do.
Behind a closed gate a model is as it is without steering, and answered already: that saves the
answers that the random gate takes. All controls together take no more than the chosen steering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aor_lib.config.records import Stimulus
from aor_lib.steering.candidates import Candidate
from aor_lib.steering.directions import Mask
from aor_lib.steering.interventions import Gated

RANDOM = 9
"""Random directions; each is tried on as large a part of the stimuli. They differ more in what they
do than requests do in what becomes of them: many on few requests say more than few on many."""

_SEED = 0

Parts = dict[str, tuple[Candidate | None, list[Stimulus]]]
"""By the ids of their mitigations: who answers, nobody steered for None, and what is asked."""


def random_controls(chosen: Candidate, stimuli: Sequence[Stimulus], opened: Mask) -> Parts:
    """Random directions, and a random gate where a gate was chosen; each stimulus once in each.

    Parameters
    ----------
    opened
        bool, ``(stimuli,)``: those that the chosen gate opens for; all of them without a gate.

    Returns
    -------
    Parts of the two controls, ``steering_random_N`` and ``steering_random_gate_N``.
    """
    inside, outside = _some(stimuli, opened), _some(stimuli, ~opened)
    directions: list[tuple[Candidate | None, list[Stimulus]]] = [
        (chosen.randomised(seed=place + 1), inside[place::RANDOM]) for place in range(RANDOM)
    ]
    parts = {"random": [*directions, (None, outside)]}
    if isinstance(chosen.intervention, Gated):
        at_random = np.random.default_rng(_SEED).permutation(opened)
        ungated = replace(chosen, intervention=chosen.intervention.then)
        parts["random_gate"] = [
            # An open gate steers as no gate would, and these are answered for the chosen one.
            (chosen, _some(stimuli, at_random & opened)),
            (ungated, _some(stimuli, at_random & ~opened)),
            (None, _some(stimuli, ~at_random)),
        ]
    return {
        f"steering_{control}_{number}": part
        for control, its in parts.items()
        for number, part in enumerate(its, 1)
        if part[1]
    }


def _some(stimuli: Sequence[Stimulus], mask: Mask) -> list[Stimulus]:
    return [stimulus for stimulus, taken in zip(stimuli, mask, strict=True) if taken]
