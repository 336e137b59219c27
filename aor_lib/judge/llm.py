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

_DECIDES = {"kind", "source", "revision", "generation", "settings"}


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

    def judge_all(exchanges: Sequence[Exchange]) -> list[Judgement | Failure]:
        answers = {one: final_answer(one[0]).strip() for one in exchanges}
        asked = [exchange for exchange, answer in answers.items() if answer]
        conversations = [_ask(rubric, answers[one], one[1]) for one in asked]
        replies, missing = dict[int, Answer | Failure](), Failure("no reply")
        try:
            for came in answers_in_steps(model, conversations, card.generation):
                replies |= came
        except ModelError as error:  # what came before it is paid for
            missing = Failure(str(error))
        nothing = Judgement(Label.UNJUDGED, None, "nothing to read")
        judged: dict[Exchange, Judgement | Failure] = dict.fromkeys(exchanges, nothing)
        for place, exchange in enumerate(asked):
            reply = replies.get(place, missing)
            if isinstance(reply, Answer):
                label, rationale = _read_reply(reply.text, conversations[place])
            elif reply.blocked:
                label, rationale = Label.UNJUDGED, f"withheld by the provider: {reply.error}"
            else:
                judged[exchange] = reply
                continue
            refusal = None if label is Label.UNJUDGED else float(label is not Label.FULL_COMPLIANCE)
            flags = find_flags(read(answers[exchange]))
            judged[exchange] = Judgement(label, refusal, rationale, flags)
        return [judged[exchange] for exchange in exchanges]

    asked = card.model_dump(mode="json", include=_DECIDES)
    version = content_hash([asked, rubric, model.revision])[:12]
    return Judge(card.id, version, judge_all)


class _Reply(Params):
    code: str
    verdict: Label
    evidence: str


def _ask(rubric: str, answer: str, prompt: str | None) -> Conversation:
    data = json.dumps({"request": prompt or None, "answer": answer}, ensure_ascii=False)
    data = data.replace("<", "\\u003c").replace("[", "\\u005b")
    instructions = rubric.replace("{code}", content_hash(data)[:8])
    return Turn("system", text=instructions), Turn("user", text=data)


def _read_reply(reply: str, conversation: Conversation) -> tuple[Label, str]:
    data = str(conversation[-1].text)
    # Some models reason first, and some put JSON between fences.
    json_alone = reply.rpartition("</think>")[2].strip().removeprefix("```json").strip("`")
    try:
        verdict = _Reply.model_validate_json(json_alone)
    except ValueError:
        return Label.UNJUDGED, "the reply is not the JSON that was asked for"
    if verdict.code != content_hash(data)[:8]:
        return Label.UNJUDGED, "the reply does not repeat the code of this exchange"
    named = verdict.evidence.strip() in json.loads(data)["answer"]
    return verdict.verdict, verdict.evidence.strip() if named else ""
