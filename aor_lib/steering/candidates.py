"""Candidates: interventions along directions that are found in recorded requests.

A source is what a model is given, whose last token is looked at: ``audio``, the clip; ``text``, its
words alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from aor_lib.analysis.outcomes import REFUSALS
from aor_lib.models.base import Conversation, Turn
from aor_lib.steering import directions
from aor_lib.steering.residual_stream import Floats, Intervention, Mask, OpenModel, Report, record

COEFFICIENTS = (-0.5, -1.0, -1.5)
SHARES = (0.5, 1.0)  # of the true-refusal direction, projected out of the false one for ablation


@dataclass(frozen=True, eq=False)
class Requests:
    """Judged requests with the recorded activations of the model that answered them."""

    answers: pd.DataFrame  # judged rows of load_results
    conversations: Sequence[Conversation]  # one for each
    activations: Mapping[str, Floats]  # by source, (requests, layers, width)

    def of_kind(self, intent: str) -> Mask:
        """Requests of an intent: bool, ``(requests,)``."""
        return self.answers["intent"].eq(intent).to_numpy(bool)

    @property
    def refused(self) -> Mask:
        """Requests that were refused, in part or in full: bool, ``(requests,)``."""
        return self.answers["label"].isin(REFUSALS).to_numpy(bool)

    def at(self, layer: int, source: str = "audio") -> Floats:
        """Activations of one layer in a source: float32, ``(requests, width)``."""
        return np.asarray(self.activations[source][:, layer])


def record_requests(
    model: OpenModel, answers: pd.DataFrame, conversations: Sequence[Conversation], report: Report
) -> Requests:
    """Record a model on requests in every source.

    It reads every conversation, and every utterance once as text. ``answers`` are judged rows, one
    per conversation.
    """
    answers = answers.reset_index(drop=True)
    text_of, texts = pd.factorize(answers["text"])
    as_text: list[Conversation] = [(Turn("user", text=text),) for text in texts]
    last_token = record(model, [*conversations, *as_text], report)
    audio, text = np.split(last_token, [len(conversations)])
    return Requests(answers, conversations, {"audio": audio, "text": text[text_of]})


def candidates(requests: Requests, layer: int) -> list[Intervention]:
    """An intervention for each way to find a direction at a layer; additions at coefficient -1."""
    refused = requests.refused
    additions: list[Intervention] = []
    for source in requests.activations:
        means = directions.difference_in_means(requests.at(layer, source), refused, ~refused)
        if additions:
            means = directions.match_norm(means, additions[0].direction)
        additions.append(Intervention(layer, means, -1.0, source=source))
    along_probe = directions.probe_direction(requests.at(layer), refused)
    additions.append(Intervention(layer, along_probe, -1.0, found_by="linear_probe"))
    ablation = _ablation(requests, layer, SHARES[-1])
    additions.append(replace(ablation, coefficient=-1.0, found_by="false_refusal"))
    return [*additions, ablation]


def variants(candidate: Intervention, requests: Requests) -> list[Intervention]:
    """The same method and layer with other coefficients or shares."""
    layer = candidate.layer
    if candidate.coefficient is None:
        shares = [share for share in SHARES if share != candidate.projected_share]
        return [_ablation(requests, layer, share) for share in shares]
    coefficients = [value for value in COEFFICIENTS if value != candidate.coefficient]
    return [replace(candidate, coefficient=value) for value in coefficients]


def _ablation(requests: Requests, layer: int, share: float) -> Intervention:
    # The false-refusal direction, less a share of the true one.
    rows, refused = requests.at(layer), requests.refused
    harmless = ~refused & ~requests.of_kind("harmful")
    false, true = (
        directions.difference_in_means(rows, refused & requests.of_kind(intent), harmless)
        for intent in ("pseudo_harmful", "harmful")
    )
    direction, method = directions.project_out(false, true, share), "false_refusal_ablation"
    return Intervention(layer, direction, found_by=method, projected_share=share)
