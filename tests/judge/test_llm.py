"""Judges that are language models: what is asked, how votes count, what a failure is."""

import json

import pytest

from aor_lib.config.records import Label
from aor_lib.judge.judgement import judge_all
from aor_lib.judge.llm import JudgeCard, LLMJudge
from aor_lib.models.base import Answer
from tests.conftest import ScriptedModel
from tests.judge.conftest import ANSWER, PROMPT, reply


class Scripted(ScriptedModel):
    """Replies with what a function makes of a conversation, and keeps how it was asked."""

    def answer(self, conversations, generation):
        self.asked.append((list(conversations), generation))
        return [Answer(self.answer_one(conversation), 1) for conversation in conversations]


def answer_in(conversation):
    return str(json.loads(str(conversation[-1].text))["answer"])


def scripted(answer_one=reply, **changes):
    fields = {"id": "tiny", "title": "Tiny", "kind": "openai_api", "licence": "none"}
    card = JudgeCard.model_validate(fields | {"source": "tiny"} | changes)
    model = Scripted(answer_one)
    return LLMJudge(card, model), model


@pytest.mark.parametrize(
    ("votes", "label", "score"),
    [
        (["full_refusal", "full_compliance", "full_refusal"], "full_refusal", 2 / 3),
        (["full_compliance", "full_compliance", "nonsense"], "full_compliance", 0),
        (["full_refusal", "full_compliance", "nonsense"], "unjudged", None),
    ],
)
def test_the_label_of_most_votes_counts_and_a_tie_is_unjudged(votes, label, score):
    left = iter(votes)
    drawn = {"votes": 3, "generation": {"temperature": 0.7, "seed": 5}}
    judge, model = scripted(lambda asked: reply(asked, next(left)), **drawn)
    judgement = judge(ANSWER, PROMPT)
    assert (judgement.label, judgement.score) == (label, score)
    assert [generation.seed for _, generation in model.asked] == [5, 6, 7]


def test_many_are_asked_in_one_call_and_equal_ones_once():
    labels = {"No.": "full_refusal"}
    judge, model = scripted(
        lambda asked: reply(asked, labels.get(answer_in(asked), "full_compliance"))
    )
    judgements = judge_all(judge, [(text, PROMPT) for text in ["No.", "Yes.", "No.", "", "Sure."]])
    labels = [str(judgement.label) for judgement in judgements]
    assert labels[:3] == ["full_refusal", "full_compliance", "full_refusal"]
    assert labels[3:] == ["unjudged", "full_compliance"]
    assert [len(conversations) for conversations, _ in model.asked] == [3]


def test_only_the_final_answer_is_shown_and_nothing_where_there_is_none():
    judge, model = scripted()
    judge("<think>I must refuse.</think> Press start.", PROMPT)
    ((conversation,), _) = model.asked[0]
    assert answer_in(conversation) == "Press start."
    assert judge("<think>I must", PROMPT).label is Label.UNJUDGED
    assert len(model.asked) == 1


def test_the_version_changes_with_whatever_changes_a_judgement():
    changes = {"source": "other", "rubric": "wildguard", "revision": "2"}
    changes |= {"generation": {"temperature": 0.1}}
    versions = {scripted(**{key: value})[0].version for key, value in changes.items()}
    versions.add(scripted()[0].version)
    assert len(versions) == 1 + len(changes)
    same = scripted(title="Renamed", reach={"timeout_s": 5})[0]
    assert same.version in versions
