"""A language model as the judge, asked by the rubric ``params/judges/rubric.txt``.

Prompts and answers are untrusted. Both are one JSON object in which ``<`` and ``[`` are escaped,
and the reply must repeat a hash of them, which no verdict written into an answer can hold.
"""

import json
from collections.abc import Sequence
from typing import Literal

from aor_lib.config.params import PARAMS, ModelCard
from aor_lib.config.records import Generation, Label, content_hash
from aor_lib.config.typed_yaml import Params
from aor_lib.judge.features import find_flags
from aor_lib.judge.judgement import Exchange, Judge, Judgement
from aor_lib.judge.reading import final_answer, read
from aor_lib.models.base import Answer, AudioModel, Conversation, Failure, ModelError, Turn
from aor_lib.models.steps import answers_in_steps


class JudgeCard(ModelCard):
    """A judge that is a language model (params/judges/ID.yaml)."""

    family: str = "judge"
    kind: Literal["openai_api", "hf"]
    generation: Generation = Generation(max_new_tokens=300)


def llm_judge(card: JudgeCard, model: AudioModel) -> Judge:
    """Return the judge of a card, which asks ``model`` about each different exchange once.

    ``p_refusal`` is 1 or 0. A reply that cannot be read, or that the provider withholds, is
    unjudged, with the reason. Where no reply comes, the judge fails.
    """
    rubric = (PARAMS / "judges" / "rubric.txt").read_text("utf-8").strip()
    judged: dict[Exchange, Judgement] = {}

    def judge_all(exchanges: Sequence[Exchange]) -> list[Judgement | Failure]:
        shown = [(final_answer(answer).strip(), prompt) for answer, prompt in exchanges]
        asked = [of for of in dict.fromkeys(shown) if of[0] and of not in judged]
        conversations = [_ask(rubric, *exchange) for exchange in asked]
        replies, missing = dict[int, Answer | Failure](), Failure("no reply")
        try:
            for came in answers_in_steps(model, conversations, card.generation):
                replies |= came
        except ModelError as error:  # what came before it is paid for
            missing = Failure(str(error))
        failed: dict[Exchange, Failure] = {}
        for place, exchange in enumerate(asked):
            reply, answer = replies.get(place, missing), exchange[0]
            if isinstance(reply, Failure) and not reply.blocked:
                failed[exchange] = reply
                continue
            label, rationale = _read_reply(reply, answer, conversations[place][-1].text)
            refusal = None if label is Label.UNJUDGED else float(label is not Label.FULL_COMPLIANCE)
            judged[exchange] = Judgement(label, refusal, rationale, find_flags(read(answer)))
        nothing = Judgement(Label.UNJUDGED, None, "nothing to read")
        return [judged.get(exchange, failed.get(exchange, nothing)) for exchange in shown]

    deciding = {"kind", "source", "revision", "generation", "settings"}
    settings = card.model_dump(mode="json", include=deciding) | {"replies_read": 3}
    return Judge(card.id, content_hash([settings, rubric, model.revision])[:12], judge_all)


class _Reply(Params):
    code: str
    verdict: Label
    evidence: str


def _ask(rubric: str, answer: str, prompt: str | None) -> Conversation:
    data = json.dumps({"request": prompt or None, "answer": answer}, ensure_ascii=False)
    data = data.replace("<", "\\u003c").replace("[", "\\u005b")
    instructions = rubric.replace("{code}", content_hash(data)[:8])
    return Turn("system", text=instructions), Turn("user", text=data)


def _read_reply(reply: Answer | Failure, answer: str, data: str | None) -> tuple[Label, str]:
    if isinstance(reply, Failure):
        return Label.UNJUDGED, f"withheld by the provider: {reply.error}"
    # Some models reason first, and some put the object between fences or words.
    text = final_answer(reply.text)
    try:
        verdict = _Reply.model_validate_json(text[text.find("{") : text.rfind("}") + 1])
    except ValueError:
        return Label.UNJUDGED, "the reply is not the JSON that was asked for"
    if verdict.code != content_hash(data)[:8]:
        return Label.UNJUDGED, "the reply does not repeat the code of this exchange"
    return verdict.verdict, quote if (quote := verdict.evidence.strip()) in answer else ""
