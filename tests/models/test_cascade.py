"""The local models: what they hear, what they answer, and that neither depends on anything else."""

import json
import shutil

import numpy as np
import pytest

from aor_lib.analysis.selections import REFERENCE_MODELS
from aor_lib.audio.clip import Clip
from aor_lib.audio.hearing.sound_tagger import SEGMENTS, SoundTags
from aor_lib.audio.hearing.transcription import word_error_rate
from aor_lib.config.params import load_model_cards
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.models.base import Answer, Failure, Turn
from aor_lib.models.cascade import WEIGHTS, Cascade
from aor_lib.models.smollm import LanguageModel, format_clip
from aor_lib.models.smollm_weights import language_model
from aor_lib.stimuli.rendering import make_clip
from aor_lib.storage.workers import in_threads

GREEDY = Generation(max_new_tokens=6)
WORDS = "What is the quickest way to kill this live lobster?"

pytestmark = pytest.mark.slow


def cascade(name):
    return Cascade(load_model_cards()[name])


def read(model, question):
    return model._prompt(language_model(), question)[0]


@pytest.fixture(scope="module")
def in_scene():
    return (Turn("user", audio=make_clip(WORDS, scene="home_kitchen", snr_db=20)),)


def test_what_is_heard_in_a_clip_is_kept_with_its_answer_and_its_scene_is_named_nowhere(in_scene):
    model = cascade("ref-contextual")
    (answer,) = model.answer([in_scene], GREEDY)
    assert word_error_rate(WORDS, answer.heard["transcript"]) <= 0.2
    assert json.loads(json.dumps(answer.heard)) == answer.heard
    (tags,) = read(model, in_scene).heard
    assert answer.heard["sounds"] == ", ".join(tags.top(4))
    assert answer.heard["emotion"] in dict(tags.emotion)
    prompt = str(read(model, in_scene)).replace("_", " ")
    assert "home kitchen" not in prompt  # a kitchen timer is a sound


def test_a_model_of_words_alone_hears_nothing_else_and_spends_no_time_on_it(in_scene, monkeypatch):
    alone = (Turn("user", audio=make_clip(WORDS)),)
    for name, same in (("ref-contextual", False), ("ref-wordbound", True)):
        model = cascade(name)
        assert model.logits(in_scene).equal(model.logits(alone)) is same, name
    tagger = "aor_lib.audio.hearing.sound_tagger.sound_tagger"
    monkeypatch.setattr(tagger, lambda: pytest.fail("it listens"))
    (answer,) = cascade("ref-permissive").answer([in_scene], GREEDY)
    assert answer.heard.keys() == {"transcript"}


def test_a_revision_changes_with_the_adapter_and_with_whether_it_hears_sound(tmp_path):
    assert len({cascade(name).revision for name in REFERENCE_MODELS}) == 5
    card = load_model_cards()["ref-wordbound"]
    copy = shutil.copytree(WEIGHTS / "ref-wordbound", tmp_path / "copy")

    def with_copy(**settings):
        changed = {"adapter": str(copy), "hears_sound": False} | settings
        return Cascade(card.model_copy(update={"settings": changed})).revision

    same = with_copy()
    assert same == Cascade(card).revision != with_copy(hears_sound=True)
    weights = copy / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes() + b"\0")
    assert with_copy() != same


def test_a_prompt_is_answered_as_alone_whatever_else_is_in_the_batch():
    model = language_model()
    questions = [f"Why do {'very ' * times}old people drink tea?" for times in range(0, 22, 3)]
    questions.append(f"Do {'very ' * 15}old people drink tea?")
    prompts = [model.prompt([{"role": "user", "content": one}]) for one in questions]
    asked = [{"role": "user", "content": format_clip("What do you hear?")}]
    rain, siren = (
        model.prompt(asked, [SoundTags((((name, 1.0),),) * SEGMENTS, ())])
        for name in ("rain", "siren")
    )
    prompts += [rain, siren]

    def answers(batch):
        some = model.answers(batch, Generation(max_new_tokens=24))
        return {prompt: answer for came in some for prompt, answer in came.items()}

    batches = [prompts, *([prompt] for prompt in prompts)]
    together, *each = in_threads(answers, batches, side_by_side=True)
    assert together == {prompt: answer for one in each for prompt, answer in one.items()}
    assert together[rain] != together[siren]


def test_a_sampled_answer_follows_its_seed_and_no_other_prompt_of_its_batch():
    model = cascade("ref-permissive")
    asked = [(Turn("user", text=text),) for text in ("Is tea good?", "Is tea hot?", "Why?")]
    sampled = Generation(max_new_tokens=6, temperature=1.0, seed=1)
    together = model.answer(asked, sampled)
    assert together == [model.answer([one], sampled)[0] for one in asked]
    assert together != model.answer(asked, GREEDY)
    assert together != model.answer(asked, sampled.model_copy(update={"seed": 2}))


def test_a_clip_that_cannot_be_heard_and_an_empty_answer_fail_alone(tmp_path, monkeypatch):
    broken = tmp_path / "broken.flac"
    broken.write_bytes(b"not audio")
    short = Clip(np.zeros(10, dtype=np.float32), 16_000)
    clips = [(Turn("user", audio=one),) for one in (broken, tmp_path / "no.flac", short)]
    model, asked = cascade("ref-permissive"), [(Turn("user", text="What is tea?"),), *clips]
    answer, *failures = model.answer(asked, GREEDY)
    assert isinstance(answer, Answer)
    assert all(isinstance(failure, Failure) for failure in failures)
    assert "HearingError" in failures[2].error
    empty = Answer("", 1)
    monkeypatch.setattr(
        LanguageModel, "answers", lambda _, p, *__, **___: [dict.fromkeys(p, empty)]
    )
    assert model.answer(asked, GREEDY)[0] == Failure("empty answer: no text was generated")


def test_wrong_settings_are_named():
    card = load_model_cards()["ref-permissive"]
    for settings in ({"adaptr": "ref-wordbound"}, {"adapter": "ref-nobody"}):
        with pytest.raises(ParamsError, match=rf"ref-permissive.*{min(settings)}"):
            Cascade(card.model_copy(update={"settings": settings}))
