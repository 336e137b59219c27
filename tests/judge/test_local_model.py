"""Local language models as judges: what they cannot do is a reason, not a crash."""

from aor_lib.config.records import Label
from aor_lib.judge.llm import JudgeCard, llm_judge
from aor_lib.models.registry import load_model
from tests.models import checkpoints

TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
EXCHANGES = [("No.", "Shall I?"), ("Certainly not, and I mean it.", "Shall I?")]


def local_judge(source):
    about = {"id": "tiny", "title": "Tiny", "kind": "hf", "licence": "none"}
    settings = {"architecture": "text", "device_map": "cpu"}
    card = JudgeCard(
        **about, source=str(source), settings=settings, generation={"max_new_tokens": 20}
    )
    return llm_judge(card, load_model(card))


def test_what_a_model_babbles_is_unjudged_and_what_it_cannot_be_asked_fails(tmp_path):
    source = checkpoints.build("text", tmp_path / "tiny")
    for failure in local_judge(source).judge_all(EXCHANGES):
        assert "template" in failure.error
    (source / "chat_template.jinja").write_text(TEMPLATE)
    for judgement in local_judge(source).judge_all(EXCHANGES):
        assert (judgement.label, judgement.p_refusal) == (Label.UNJUDGED, None)
        assert "JSON" in judgement.rationale
