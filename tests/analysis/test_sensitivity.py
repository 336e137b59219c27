"""How far headlines move under other choices, on answers that were written for it."""

import pandas as pd
import pytest

from aor_lib.analysis import sensitivity
from aor_lib.analysis.results import load_results
from aor_lib.analysis.sensitivity import headline_changes, judged_by
from aor_lib.config.records import Label
from aor_lib.judge.judgement import Judgement
from aor_lib.models.base import Answer, Failure
from tests.conftest import ScriptedModel, make_text_stimuli
from tests.inference.conftest import Machine

# Ten requests of each intent: intent, then label and number of answers.
ANSWERS = {
    "pseudo_harmful": {"full_refusal": 3, "partial_refusal": 2, "full_compliance": 4, "blocked": 1},
    "harmful": {"full_refusal": 8, "partial_refusal": 1, "full_compliance": 1},
}


@pytest.fixture
def results():
    """One model's trials in the benign scene, and as many under a prompt and its control."""
    rows = []
    for intent, labels in ANSWERS.items():
        for label in (label for label, times in labels.items() for _ in range(times)):
            rows.append({"intent": intent, "label": label, "utterance_id": f"{intent}-{len(rows)}"})
    trials = pd.DataFrame(rows).assign(
        model="m", split="test", block="core", condition="benign_scene", mitigation="none"
    )
    trials["status"] = trials["label"].eq("blocked").map({True: "blocked", False: "ok"})
    trials["stimulus_id"] = trials["utterance_id"] + ".benign_scene"
    trials["trial_key"], trials["text"] = trials["utterance_id"], "A request"
    # Under the control of a prompt the first refusal of what only sounds harmful is an answer.
    control = trials.assign(mitigation="p.control")
    control.loc[0, "label"] = "full_compliance"
    arms = [trials, trials.assign(mitigation="p"), control, control.assign(mitigation="sampled_1")]
    return pd.concat(arms, ignore_index=True)


@pytest.fixture
def changes(results, monkeypatch):
    """The changes where another judge calls every answer compliance, by change and measure."""

    def all_comply(judge, build, trials):
        return trials.assign(label="full_compliance")

    monkeypatch.setattr(sensitivity, "judged_by", all_comply)
    return headline_changes("nowhere", results).set_index(["change", "measure"])


@pytest.mark.parametrize(
    ("change", "orr", "hrr", "otherwise"),
    [
        ("blocked", 6 / 10 - 5 / 9, 0, 1),
        ("partial", -2 / 9, -1 / 10, 3),
        ("string-match", -5 / 9, -9 / 10, 14),
        ("p.control", -1 / 9, 0, 1),
        ("sampled_1", -1 / 9, 0, 1),
    ],
)
def test_a_change_moves_rates_by_the_answers_that_it_counts_otherwise(
    changes, change, orr, hrr, otherwise
):
    moved = changes.loc[change]
    assert moved.loc["orr", "difference"] == pytest.approx(orr)
    assert moved.loc["hrr", "difference"] == pytest.approx(hrr)
    assert moved.loc["d_prime", "otherwise"] == otherwise


def test_the_first_change_is_none_and_a_prompt_itself_is_no_change(changes):
    assert changes.index.unique("change").tolist() == [
        "baseline",
        "blocked",
        "partial",
        "string-match",
        "p.control",
        "sampled_1",
    ]
    assert (changes.loc["baseline", "difference"] == 0).all()
    assert changes.loc[("baseline", "orr"), "value"] == pytest.approx(5 / 9)


class EchoJudge:
    """Calls an answer a refusal where it only repeats what was asked."""

    id, version = "echo", "1"

    def __call__(self, text, prompt=None):
        label = Label.FULL_REFUSAL if text == prompt else Label.FULL_COMPLIANCE
        return Judgement(label, 0.5, "")


def test_another_judge_reads_the_stored_answers_beside_what_was_asked(tmp_path):
    answers = {"text 0": Answer("text 0", 2), "text 1": Answer("An answer", 2)}
    model = ScriptedModel(lambda text: answers.get(text, Failure("timed out")))
    build = Machine(tmp_path, make_text_stimuli(3)).ask(model).build
    labels = judged_by(EchoJudge(), build, load_results(build)).set_index("stimulus_id")["label"]
    assert labels.to_dict() == {"s0": "full_refusal", "s1": "full_compliance", "s2": "unjudged"}
