"""Directions along which refusals differ from other answers, and interventions to try along them.

Every direction points towards refusal. An addition with coefficient -1 moves the mean of the
refused requests, along the direction, onto that of the others. Directions are float32,
``(width,)``; ``rows`` are the activations of one layer, float32, ``(requests, width)``; masks are
bool, ``(requests,)``. A source is the input at whose last token activations are recorded:
``audio``, the clip; ``text``, its words alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression

from aor_lib.analysis.outcomes import REFUSALS
from aor_lib.models.base import Conversation, Turn
from aor_lib.steering.residual_stream import Floats, Intervention, Mask, OpenModel, record
from aor_lib.storage.progress import Report

NEEDED = {"refused pseudo-harmful": 8, "refused harmful": 4, "answered harmless": 2}
"""Minimum numbers of ``dev`` utterances for fitting: the mean of fewer is too noisy."""
COEFFICIENTS = (-0.5, -1.0, -1.5)
SHARES = (0.5, 1.0)  # of the true-refusal direction, projected out of the false-refusal one


def difference_in_means(rows: Floats, refused: Mask, complied: Mask) -> Floats:
    """Mean of the refused rows minus that of the complied ones (Arditi et al., NeurIPS 2024).

    A row may be in neither mask. Neither mask may be empty.
    """
    means = [rows[mask].mean(axis=0, dtype=np.float64) for mask in (refused, complied)]
    return np.asarray(means[0] - means[1], dtype=np.float32)


def project_out(direction: Floats, other: Floats, projected_share: float = 1.0) -> Floats:
    """Subtract a share of a direction's component along another; 1 makes them orthogonal.

    X. Wang et al., "Surgical, cheap, and flexible: mitigating false refusal in language models via
    single vector ablation", ICLR 2025.
    """
    unit = _unit(other)
    return np.asarray(direction - projected_share * (direction @ unit) * unit, dtype=np.float32)


def match_norm(direction: Floats, other: Floats) -> Floats:
    """Scale a direction to the norm of another, so that the same coefficients suit both."""
    norm, wanted = (float(np.linalg.norm(v.astype(np.float64))) for v in (direction, other))
    return np.asarray(direction * (wanted / max(norm, 1e-9)), np.float32)


def probe(rows: Floats, positive: Mask) -> tuple[Floats, float]:
    """Normal and intercept of a logistic regression of ``positive`` on standardised rows.

    The classes are weighted equally. ``rows @ normal + intercept`` are log-odds.
    """
    values = np.asarray(rows, dtype=np.float64)
    centre, spread = values.mean(axis=0), values.std(axis=0) + 1e-6
    # C is small because there are more dimensions than requests.
    fitted = LogisticRegression(C=0.01, class_weight="balanced", max_iter=1000)
    fitted.fit((values - centre) / spread, positive)
    normal = fitted.coef_[0] / spread
    return normal.astype(np.float32), float(fitted.intercept_[0] - centre @ normal)


def probe_direction(rows: Floats, refused: Mask) -> Floats:
    """A probe's normal, scaled to the distance along it between the refused and the other mean."""
    apart = difference_in_means(rows, refused, ~refused)
    unit = _unit(probe(rows, refused)[0])
    return np.asarray((apart @ unit) * unit, dtype=np.float32)


def random_like(direction: Floats, seed: int) -> Floats:
    """Random direction of the same norm, as a control."""
    drawn = np.random.default_rng(seed).standard_normal(direction.shape)
    length = np.linalg.norm(direction.astype(np.float64))
    return np.asarray(drawn * length / np.linalg.norm(drawn), dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Requests:
    """Judged requests with the recorded activations of the model that answered them."""

    answers: pd.DataFrame  # judged rows of load_results
    conversations: Sequence[Conversation]  # one for each
    activations: Mapping[str, Floats]  # by source, (requests, layers, width)

    def of_kind(self, intent: str) -> Mask:
        """Mark requests of an intent; pseudo-harmful ones only outside threatening scenes: bool."""
        kind = self.answers["intent"].eq(intent)
        if intent == "pseudo_harmful":  # in a threatening scene, refusing them is right
            kind &= self.answers["condition"].ne("threatening_scene")
        return kind.to_numpy(bool)

    @property
    def refused(self) -> Mask:
        """Requests that were refused, in part or in full: bool, ``(requests,)``."""
        return self.answers["label"].isin(REFUSALS).to_numpy(bool)

    def at(self, layer: int, source: str = "audio") -> Floats:
        """Activations at one layer for a source: float32, ``(requests, width)``."""
        return np.asarray(self.activations[source][:, layer])


def record_requests(
    model: OpenModel, answers: pd.DataFrame, conversations: Sequence[Conversation], report: Report
) -> Requests:
    """Record a model's activations on requests, for every source.

    The model reads every conversation, and every utterance once as text. ``answers`` has one judged
    row per conversation.
    """
    answers = answers.reset_index(drop=True)
    text_of, texts = pd.factorize(answers["text"])
    as_text: list[Conversation] = [(Turn("user", text=text),) for text in texts]
    audio, text = np.split(record(model, [*conversations, *as_text], report), [len(conversations)])
    return Requests(answers, conversations, {"audio": audio, "text": text[text_of]})


def candidates(requests: Requests, layer: int) -> list[Intervention]:
    """One intervention per way of finding a direction at a layer; additions have coefficient -1."""
    refused = requests.refused
    additions: list[Intervention] = []
    for source in requests.activations:
        means = difference_in_means(requests.at(layer, source), refused, ~refused)
        if additions:
            means = match_norm(means, additions[0].direction)
        additions.append(Intervention(layer, means, -1.0, source=source))
    along_probe = probe_direction(requests.at(layer), refused)
    additions.append(Intervention(layer, along_probe, -1.0, found_by="linear_probe"))
    false = requests.answers.loc[refused & requests.of_kind("pseudo_harmful"), "utterance_id"]
    if false.nunique() < NEEDED["refused pseudo-harmful"]:
        return additions
    ablation = _ablation(requests, layer, SHARES[-1])
    additions.append(replace(ablation, coefficient=-1.0, found_by="false_refusal"))
    return [*additions, ablation]


def variants(candidate: Intervention, requests: Requests) -> list[Intervention]:
    """Variants of a candidate: the same method and layer with other coefficients or shares."""
    if candidate.coefficient is None:
        shares = [share for share in SHARES if share != candidate.projected_share]
        return [_ablation(requests, candidate.layer, share) for share in shares]
    coefficients = [value for value in COEFFICIENTS if value != candidate.coefficient]
    return [replace(candidate, coefficient=value) for value in coefficients]


def _ablation(requests: Requests, layer: int, share: float) -> Intervention:
    # The false-refusal direction, minus a share of its component along the true-refusal one.
    rows, refused = requests.at(layer), requests.refused
    harmless = ~refused & ~requests.of_kind("harmful")
    false, true = (
        difference_in_means(rows, refused & requests.of_kind(intent), harmless)
        for intent in ("pseudo_harmful", "harmful")
    )
    direction, method = project_out(false, true, share), "false_refusal_ablation"
    return Intervention(layer, direction, found_by=method, projected_share=share)


def _unit(direction: Floats) -> npt.NDArray[np.float64]:
    exact = direction.astype(np.float64)
    return exact / np.linalg.norm(exact)
