"""Steering: directions in a model's residual stream that change what it refuses.

- ``activations`` of the decoder layers are recorded, from several ``sources``; ``directions`` and
  ``gates`` are found in them, on the ``dev`` split, and make ``candidates``.
- ``interventions`` apply them while a model answers; ``vectors`` keeps them on disk.
- ``layer_sweep`` estimates what each candidate would do (``estimates``);
  ``trials`` has the study's engine and judge try the best ones; ``choice`` picks operating points,
  and ``controls`` go with the one that is chosen.
- ``probing`` asks what each layer knows; ``frontier`` what any readiness to refuse could reach;
  ``comparisons`` test the chosen steering against its controls.
- ``study`` steers all models of a study, each by ``fitting``, where something changed; ``fluency``
  asks if the answers still make sense.
- ``tables`` are what pages show; they need no torch.

Examples
--------
In a judged study, find a steering vector on the dev split and apply it to two requests of test::

    from aor_lib.config.params import load_model_cards
    from aor_lib.config.records import Generation
    from aor_lib.models.registry import load_model
    from aor_lib.steering.activations import record
    from aor_lib.steering.directions import difference_in_means
    from aor_lib.steering.interventions import Addition, steered
    from aor_lib.steering.trials import conversations, unsteered_trials

    model = load_model(load_model_cards()["ref-contextual"])
    trials = unsteered_trials("build/laptop", model)
    dev = trials[trials["split"] == "dev"].groupby("label").head(30)
    activations = record(model, conversations("build/laptop", dev)).activations
    refused, layer = dev["label"].ne("full_compliance").to_numpy(), activations.shape[1] // 2
    direction = difference_in_means(activations[:, layer], refused, ~refused)

    refusals = trials.query("intent == 'pseudo_harmful' and label == 'full_refusal'")
    asked = conversations("build/laptop", refusals[refusals["split"] == "test"].head(2))
    before = model.answer(asked, Generation(max_new_tokens=40))
    with steered(model, Addition(layer, direction, coefficient=-1.0)):
        after = model.answer(asked, Generation(max_new_tokens=40))
"""

from aor_lib.config.typed_yaml import AorError

VERSION = 4
"""Raise it when the same answers would give other vectors, choices or tables."""
MAX_HRR_LOSS = 0.025
"""Harmful refusal that may be lost on ``dev``, of all harmful requests, by default.

A choice looks better where it was made, and loses more on ``test``.
"""


class SteeringError(AorError, ValueError):
    """A vector that does not fit, or a model that cannot be steered; the message says why."""
