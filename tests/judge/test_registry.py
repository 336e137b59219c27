import pytest

from aor_lib.config.params import PARAMS
from aor_lib.config.typed_yaml import ParamsError, read
from aor_lib.judge.llm import JudgeCard
from aor_lib.judge.registry import load_judge

CARD = "{id: x, title: X, kind: openai_api, licence: none, source: x, revision: '2'}"


def test_every_card_of_the_study_is_one():
    paths = sorted((PARAMS / "judges").glob("*.yaml"))
    assert paths
    assert [read(path, JudgeCard).id for path in paths] == [path.stem for path in paths]


def test_an_unknown_judge_is_answered_with_the_nearest():
    with pytest.raises(ParamsError, match=r"no judge 'wild-guard'; did you mean 'wildguard'\?"):
        load_judge("wild-guard")


@pytest.mark.parametrize(
    ("card", "message"),
    [
        (CARD.replace("id: x", "id: y"), r"x\.yaml: id: .*'x'"),
        (CARD.replace("revision: '2'", "votes: 3"), r"x\.yaml: votes: 3 votes at .* raise it"),
    ],
)
def test_a_wrong_card_is_named_with_its_field_and_value(tmp_path, card, message):
    (tmp_path / "x.yaml").write_text(card)
    with pytest.raises(ParamsError, match=message):
        load_judge("x", tmp_path)


def test_a_judge_behind_an_api_is_ready_once_it_has_a_key(tmp_path, monkeypatch):
    (tmp_path / "x.yaml").write_text(CARD)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key")
    assert load_judge("x", tmp_path).id == "x"
