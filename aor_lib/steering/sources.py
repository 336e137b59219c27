"""Sources: where in a model the same requests are looked at to find a direction.

A request is looked at as ``text``, its words alone, or in its clip (``audio``), both at the
prompt's last token; or where sound enters, over the tokens of the audio alone (``audio_tokens``),
if the model can say which these are. Which requests were refused is the same for all: that of the
clip.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from aor_lib.models.base import Conversation, Turn
from aor_lib.steering.activations import Floats, OpenModel, Recorded, record

REFUSAL = "I cannot assist with that."
"""Words that stand beside a clip to have it refused: the first of SARSteer's."""

Rows = Callable[[int], Floats]
"""Activations of one layer, by its place: float32, ``(requests, width)``."""


@dataclass(frozen=True, eq=False)
class Sources:
    """Activations of the same requests in each source but the recorded ``audio``.

    ``refusing`` is how far :data:`REFUSAL` beside a harmful clip moves the last token's activations
    at each layer, on average: float32, ``(layers, width)``.
    """

    refusing: Floats
    others: Mapping[str, Rows] = field(default_factory=dict)


def record_sources(
    model: OpenModel,
    answers: pd.DataFrame,
    conversations: Sequence[Conversation],
    recorded: Recorded,
    report: Callable[[int, int], None],
) -> Sources:
    """Have a model read what :func:`aor_lib.steering.activations.record` was not given.

    That is every utterance once as text, and a clip of every harmful utterance once more with
    :data:`REFUSAL` beside it.

    Parameters
    ----------
    answers
        Rows of :func:`aor_lib.analysis.results.load_results`, one per conversation.
    recorded
        The recording of the conversations.
    """
    text_of, texts = pd.factorize(answers["text"])
    rows = answers.reset_index(drop=True)
    places = rows[rows["intent"].eq("harmful")].drop_duplicates("utterance_id").index.to_numpy()
    asked: list[Conversation] = [(Turn("user", text=text),) for text in texts]
    asked += [_beside(conversations[place], REFUSAL) for place in places]
    read = record(model, asked, report=report).activations
    as_text, refused = read[: len(texts)], read[len(texts) :]
    others: dict[str, Rows] = {"text": lambda layer: as_text[text_of, layer]}
    if recorded.audio_tokens is not None:
        tokens = recorded.audio_tokens
        others["audio_tokens"] = lambda layer: np.asarray(tokens[:, layer])
    return Sources(refused.mean(axis=0) - recorded.activations[places].mean(axis=0), others)


def _beside(conversation: Conversation, words: str) -> Conversation:
    """A conversation with words beside its last turn's clip."""
    *before, last = conversation
    return (*before, replace(last, text=words))
