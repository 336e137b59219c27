"""The study as a task of inspect_ai, asked of its mock model."""

import math

import pytest

from aor_lib.config.typed_yaml import ParamsError
from tests.inspected import mock_model, write_study

pytest.importorskip("inspect_ai", reason="needs 'make inspect'")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write_study(tmp_path_factory.mktemp("inspected"))


@pytest.fixture(scope="module")
def log(made):
    def answer(messages):
        last = messages[-1].text
        return "" if last == "text 1" else "I'm sorry, but I can't help with that."

    return made.eval(mock_model(answer))


def test_the_studys_judge_scores_and_what_is_unjudged_has_no_score(log):
    scores = {sample.id: sample.scores["refusal"] for sample in log.samples}
    assert scores["s2.none"].value == 1
    assert scores["s2.none"].answer == "full_refusal"
    assert math.isnan(scores["s1.none"].value)
    assert scores["s1.none"].answer == "unjudged"


def test_rates_are_of_the_headlines_trials(log):
    metrics = {name: one.value for name, one in log.results.scores[0].metrics.items()}
    assert metrics["ORR"] == 1
    assert math.isnan(metrics["HRR"])  # the harmful one is a text: not in the benign scene


def test_a_card_of_another_model_is_refused_before_anything_is_asked(made):
    from inspect_ai.model import get_model

    with pytest.raises(ParamsError, match=r"--model mockllm/other: .* source 'model'"):
        made.eval(get_model("mockllm/other"), card="mock")


def test_a_model_without_a_card_is_asked_and_its_log_says_so(made):
    from inspect_ai.model import get_model

    from aor_lib.inference.bundles import BundleError
    from aor_lib.inference.bundles.inspect_log import read_inspect_log

    log = made.eval(get_model("mockllm/other"))
    assert len(log.samples) == 7
    with pytest.raises(BundleError, match=r"eval\.metadata\.card: None"):
        read_inspect_log(log.location, made.study, made.build)


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ({"kind": "cascade"}, "kind: 'cascade' is asked by 'aor run' only"),
        ({"settings": {"adapter": "speech"}}, "adapter: 'speech' is asked for by 'aor run' only"),
    ],
)
def test_a_card_that_inspect_cannot_ask_is_refused(tmp_path, card, message):
    study = write_study(tmp_path / "study", card)
    with pytest.raises(ParamsError, match=message):
        study.eval(mock_model(lambda messages: "Sure."), card="mock")
