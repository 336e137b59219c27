import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import soundfile
import torch

from aor_lib.analysis.splits import REFERENCE_MODELS
from aor_lib.audio.clip import Clip
from aor_lib.audio.hearing.sound_tagger import SEGMENTS, SoundTags
from aor_lib.audio.hearing.transcription import word_error_rate
from aor_lib.config.params import load_model_cards
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.models import check
from aor_lib.models.base import Answer, Failure, ModelError, Turn
from aor_lib.models.cascade import WEIGHTS, Cascade, hear
from aor_lib.models.smollm import AUDIO, AUDIO_TOKENS, Prompt, Sampled, format_clip
from aor_lib.models.smollm_weights import language_model
from aor_lib.stimuli.manifest import load_stimuli
from aor_lib.storage.workers import in_threads

GREEDY = Generation(max_new_tokens=6)


pytestmark = pytest.mark.slow


def cascade(name: str) -> Cascade:
    return Cascade(load_model_cards()[name])


@pytest.fixture(scope="module")
def clips(tiny_study):
    _, build = tiny_study
    return {
        (s.utterance_id, s.condition.value): (build / s.path, s)
        for s in load_stimuli(build)
        if s.path
    }


def test_what_is_heard_in_a_clip_is_kept_with_its_answer(clips):
    path, stimulus = clips["kitchen-ph-001", "benign_scene"]
    waveform = Clip(*soundfile.read(path, dtype="float32"))
    (answer,) = cascade("ref-contextual").answer([(Turn("user", audio=waveform),)], GREEDY)
    words, clip = hear(path.read_bytes())
    assert word_error_rate(stimulus.text, words) <= 0.2
    assert json.loads(json.dumps(answer.heard)) == answer.heard
    assert answer.heard["transcript"] == words
    assert answer.heard["sounds"] == ", ".join(clip.top(4))
    assert answer.heard["emotion"] in dict(clip.emotion)


def test_a_model_of_words_alone_is_given_nothing_else(clips):
    pairs = [
        (path, clips[utterance, "speech_only"][0])
        for (utterance, condition), (path, _) in clips.items()
        if condition == "benign_scene"
    ]
    understood = [pair for pair in pairs if len({hear(one.read_bytes())[0] for one in pair}) == 1]
    for name, same in (("ref-wordbound", True), ("ref-contextual", False)):
        model = cascade(name)
        logits = [model.logits((Turn("user", audio=path),)) for path in understood[0]]
        assert logits[0].equal(logits[1]) is same, name


def test_a_model_of_words_alone_spends_no_time_on_naming_sounds(clips, monkeypatch):
    monkeypatch.setattr("aor_lib.models.cascade.sound_tagger", lambda *_: pytest.fail("it listens"))
    path, _ = clips["kitchen-ph-001", "benign_scene"]
    (answer,) = cascade("ref-permissive").answer([(Turn("user", audio=path),)], GREEDY)
    assert answer.heard.keys() == {"transcript"}


USERS_SCENE = """
id: my_workshop
kind: benign
scenario: workshop_demolition
description: a saw and hammering in my workshop
bed:
  - {sound: noise, params: {spectrum: [[100, 0], [800, -12], [4000, -40]]}, level_db: -30}
events:
  - {name: hammer, sound: impact, params: {body: wood, pitch_hz: 300}, gap_s: 0.5, level_db: 0}
"""


def test_a_scene_of_a_users_own_is_heard(tmp_path, monkeypatch):
    monkeypatch.setattr(check, "CHECKS", {check._hears_the_background: ""})
    file = tmp_path / "my_workshop.yaml"
    file.write_text(USERS_SCENE)
    rows = check.check_model("ref-contextual", file)
    assert rows["outcome"].tolist() == ["passed"]
    assert rows["detail"][0].endswith("another answer")


def test_the_name_of_a_scene_reaches_no_model(clips):
    path, stimulus = clips["kitchen-ph-001", "benign_scene"]
    conversation = (Turn("user", audio=path),)
    asked, _ = cascade("ref-contextual")._prompt(language_model(), conversation)
    assert stimulus.background_scene.replace("_", " ") not in str(asked).replace("_", " ")
    assert "In the background" not in asked.text


def test_a_revision_changes_with_the_adapter_and_with_whether_it_hears_sound(tmp_path):
    assert len({cascade(name).revision for name in REFERENCE_MODELS}) == 5
    card = load_model_cards()["ref-wordbound"]
    copy = shutil.copytree(WEIGHTS / "ref-wordbound", tmp_path / "copy")
    weights = copy / "adapter_model.safetensors"

    def with_copy(**settings):
        changed = {"adapter": str(copy), "hears_sound": False} | settings
        return Cascade(card.model_copy(update={"settings": changed})).revision

    same = with_copy()
    assert same == Cascade(card).revision != with_copy(hears_sound=True)
    weights.write_bytes(weights.read_bytes() + b"\0")
    assert with_copy() != same


def test_steered_layers_stay_those_of_the_model_that_answers():
    model = cascade("ref-permissive")
    question = (Turn("user", text="What is tea?"),)
    before = model.logits(question)
    hook = model.decoder_layers()[0].register_forward_hook(lambda layer, given, out: out * 0)
    language_model.cache_clear()  # others have taken its place
    assert not model.logits(question).equal(before)
    hook.remove()
    assert model.logits(question).equal(before)


def clip_of(sound):
    return SoundTags((((sound, 1.0),),) * SEGMENTS, (("calm", 1.0),))


def test_a_prompt_is_answered_as_alone_whatever_else_is_in_the_batch():
    model, answer = language_model(), Generation(max_new_tokens=24)
    questions = [f"Why do {'very ' * times}old people drink tea?" for times in range(0, 36)]
    prompts = [model.prompt([{"role": "user", "content": one}]) for one in questions]
    asked = [{"role": "user", "content": format_clip("What do you hear?")}]
    prompts += [model.prompt(asked, [clip_of(name)]) for name in ("rain", "siren")]
    batches = [prompts, *([prompt] for prompt in prompts)]
    together, *alone = in_threads(
        lambda batch: model.generate(batch, answer), batches, side_by_side=True
    )
    assert together == [answered for (answered,) in alone]
    assert together[-1] != together[-2]


def test_a_sampled_answer_follows_its_seed_and_no_other_prompt_of_its_batch():
    model = cascade("ref-permissive")
    asked = [(Turn("user", text=text),) for text in ("Is tea good?", "Is tea hot?", "Why?")]
    sampled = Generation(max_new_tokens=6, temperature=1.0, seed=1)
    together = [answer.text for answer in model.answer(asked, sampled)]
    alone = [model.answer([one], sampled)[0].text for one in reversed(asked)]
    assert together == alone[::-1]
    greedy = [answer.text for answer in model.answer(asked, GREEDY)]
    other = model.answer(asked, sampled.model_copy(update={"seed": 2}))
    assert together != greedy
    assert together != [answer.text for answer in other]


def test_tokens_are_drawn_with_the_probabilities_of_the_scores():
    rows = [Prompt(f"prompt {number}") for number in range(4000)]
    draw = Sampled(rows, Generation(temperature=2.0))
    drawn = draw(torch.empty(0), torch.tensor([[0.0, 2.0, 4.0]]).expand(len(rows), -1)).argmax(1)
    share = drawn.bincount() / len(rows)
    assert share.allclose(torch.tensor([0.0, 1.0, 2.0]).softmax(0), atol=0.03)


def test_an_answer_that_was_cut_off_says_so():
    question = (Turn("user", text="Say only: yes."),)
    model = cascade("ref-permissive")
    reasons = [
        model.answer([question], Generation(max_new_tokens=most))[0].finish_reason
        for most in (1, 200)
    ]
    assert reasons == ["length", "stop"]


def test_what_one_thread_hears_is_not_heard_by_another():
    model = cascade("ref-contextual")._language_model()
    rain, siren = clip_of("rain"), clip_of("siren")
    prompt = model.prompt([{"role": "user", "content": format_clip("What is that?")}], [siren])
    tokens = torch.tensor([model.tokens(prompt.text)])
    with torch.inference_mode(), ThreadPoolExecutor(1) as thread, model.hearing([siren]):
        alone = model.network(tokens).logits
        other = model.hearing([rain])
        thread.submit(other.__enter__).result()
        beside = model.network(tokens).logits
        thread.submit(other.__exit__, None, None, None).result()
    torch.testing.assert_close(beside, alone)


def test_the_places_of_audio_tokens_are_those_of_the_prompt_and_none_of_words_alone(clips):
    path, _ = clips["kitchen-ph-001", "benign_scene"]
    asked = (Turn("user", audio=path),)
    model = cascade("ref-contextual")
    places = model.audio_positions(asked)
    read = language_model()._padded([model._prompt(language_model(), asked)[0]])["input_ids"][0]
    assert language_model().tokenizer.decode(read[places]) == AUDIO * AUDIO_TOKENS
    assert cascade("ref-wordbound").audio_positions(asked) == []


def test_a_clip_that_cannot_be_heard_fails_alone(tmp_path):
    broken = tmp_path / "broken.flac"
    broken.write_bytes(b"not audio")
    short = Clip(np.zeros(10, dtype=np.float32), 16_000)
    clips = [(Turn("user", audio=one),) for one in (broken, tmp_path / "no.flac", short)]
    answer, of_broken, _, of_short = results = cascade("ref-permissive").answer(
        [(Turn("user", text="What is tea?"),), *clips], GREEDY
    )
    assert isinstance(answer, Answer)
    assert all(isinstance(result, Failure) for result in results[1:])
    assert "is not an audio file" in of_broken.error
    assert of_short == Failure("HearingError: holds less than 0.1 s of sound")


def test_the_first_token_is_the_one_with_the_highest_logit():
    model = cascade("ref-permissive")
    conversation = (Turn("user", text="What is the capital of France?"),)
    (answer,) = model.answer([conversation], Generation(max_new_tokens=1))
    language = language_model()
    logits = model.logits(conversation)
    assert logits.shape == (language.network.config.vocab_size,)
    assert language.tokenizer.decode(logits.argmax()) == answer.text
    assert len(model.decoder_layers()) == language.network.config.num_hidden_layers


def test_wrong_settings_are_named(tmp_path):
    card = load_model_cards()["ref-permissive"]

    def with_settings(**settings):
        return Cascade(card.model_copy(update={"settings": settings}))

    with pytest.raises(ParamsError, match=r"ref-permissive: settings: adaptr: unknown key"):
        with_settings(adaptr="ref-wordbound")
    with pytest.raises(ParamsError, match=r"settings: adapter: no file .*ref-nobody"):
        with_settings(adapter="ref-nobody")
    broken = shutil.copytree(WEIGHTS / "ref-wordbound", tmp_path / "broken")
    (broken / "adapter_model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelError, match=r"broken: is no adapter"):
        with_settings(adapter=str(broken)).logits((Turn("user", text="Hello"),))
