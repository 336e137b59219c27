import json

import numpy as np
import pytest
import soundfile

from aor_lib.models.base import Answer, Failure, ModelError, Turn, Waveform
from aor_lib.models.cascade import Cascade, _language_model
from aor_lib.params import load_model_cards
from aor_lib.records import Generation
from aor_lib.results import load_stimuli
from aor_lib.typed_yaml import ParamsError

GREEDY = Generation(max_new_tokens=12)

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


def heard(answer):
    assert isinstance(answer, Answer)
    return answer.heard


def test_the_aware_form_hears_the_scene_and_the_unaware_one_only_the_words(clips):
    path, stimulus = clips["kitchen-ph-001", "matched"]
    conversation = (Turn("user", audio=path),)
    (aware,) = cascade("cascade-scene-aware").answer([conversation], GREEDY)
    (unaware,) = cascade("cascade-unaware").answer([conversation], GREEDY)
    assert heard(aware)["scene"] == stimulus.background_scene
    assert set(heard(unaware)) == {"transcript"}
    assert heard(aware)["transcript"] == heard(unaware)["transcript"] == stimulus.asr_text
    json.dumps(heard(aware))


def test_no_background_is_heard_as_quiet(clips):
    path, _ = clips["kitchen-ph-001", "speech_only"]
    (answer,) = cascade("cascade-scene-aware").answer([(Turn("user", audio=path),)], GREEDY)
    assert heard(answer)["scene"] == "quiet"


def test_a_batch_gives_what_single_conversations_give(clips):
    model = cascade("cascade-unaware")
    conversations = [(Turn("user", audio=path),) for path, _ in clips.values()]
    conversations += [(Turn("system", text="Be brief."), Turn("user", text="What is tea?"))]
    batch = model.answer(conversations, GREEDY)
    single = [model.answer([conversation], GREEDY)[0] for conversation in conversations]
    assert batch == single


def test_a_clip_that_cannot_be_heard_fails_alone(tmp_path):
    broken = tmp_path / "broken.flac"
    broken.write_bytes(b"not audio")
    good = (Turn("user", text="What is tea?"),)
    results = cascade("cascade-unaware").answer(
        [good, (Turn("user", audio=broken),), (Turn("user", audio=tmp_path / "no.flac"),)], GREEDY
    )
    assert isinstance(results[0], Answer)
    assert all(isinstance(result, Failure) for result in results[1:])
    assert "is not an audio file" in results[1].error


def test_a_waveform_is_heard_as_the_file_that_holds_it(clips):
    path, stimulus = clips["kitchen-ph-001", "matched"]
    samples, sample_rate = soundfile.read(path, dtype="float32")
    sounds = [path, Waveform(samples, sample_rate)]
    model = cascade("cascade-scene-aware")
    of_file, of_waveform = model.answer([(Turn("user", audio=s),) for s in sounds], GREEDY)
    assert of_waveform == of_file
    assert heard(of_waveform)["transcript"] == stimulus.asr_text


def test_a_waveform_that_is_too_short_to_be_heard_is_a_failure():
    silence = Waveform(np.zeros(10, dtype=np.float32), 16_000)
    (result,) = cascade("cascade-unaware").answer([(Turn("user", audio=silence),)], GREEDY)
    assert result == Failure("HearingError: holds less than 0.1 s of sound")


def test_the_first_token_is_the_one_with_the_highest_logit():
    model = cascade("cascade-unaware")
    conversation = (Turn("user", text="What is the capital of France?"),)
    (answer,) = model.answer([conversation], Generation(max_new_tokens=1))
    tokenizer, network = _language_model()
    logits = model.logits(conversation)
    assert logits.shape == (network.config.vocab_size,)
    assert tokenizer.decode(logits.argmax()) == answer.text
    assert len(model.decoder_layers()) == network.config.num_hidden_layers


def test_wrong_settings_are_named():
    card = load_model_cards()["cascade-unaware"]
    with pytest.raises(ParamsError, match=r"cascade-unaware: settings: scene_aware: is missing"):
        Cascade(card.model_copy(update={"settings": {"scene_awar": True}}))
    with pytest.raises(ModelError, match="temperature"):
        Cascade(card).answer([], Generation(temperature=0.7))
