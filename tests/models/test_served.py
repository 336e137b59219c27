"""Models behind a server of one's own, against one on this machine that answers as vLLM and SGLang.

It does so as the sources of vLLM 0.33.0 (``vllm/entrypoints/openai`` and ``serve``) and of SGLang
0.5.23 (``sglang/srt/entrypoints``) say.
"""

import base64
import io
import itertools
import json
import shlex

import numpy as np
import pytest
import soundfile

from aor_lib.config.params import PARAMS, SERVED, load_model_cards, load_study
from aor_lib.config.records import Generation
from aor_lib.inference.provenance import provenance_of
from aor_lib.models.base import Answer, Failure, ModelError, Turn, Waveform
from aor_lib.models.openai_api import OpenAIModel
from tests.models.loopback import completion, error

SHIPPED = load_model_cards(folder=SERVED)
OPEN = {id: card for id, card in load_model_cards().items() if card.kind == "hf"}
MODEL = "Qwen/Qwen2-Audio-7B-Instruct"
PHI4 = "microsoft/Phi-4-multimodal-instruct"
SOUND = Waveform(np.zeros(1600, np.float32), 16_000)
SPOKEN = (Turn("user", audio=SOUND),)
WRITTEN = (Turn("user", text="Hello"),)
GENERATION = Generation(max_new_tokens=7)


def reply(body, status=200):
    return status, {}, json.dumps(body).encode()


def vllm_models(*names, length=8192):
    """``show_available_models`` of vLLM: adapters have a parent, and no length."""
    rows = [
        {
            "id": name,
            "object": "model",
            "created": 1,
            "owned_by": "vllm",
            "root": "/models/speech-lora" if number else name,
            "parent": names[0] if number else None,
            "max_model_len": None if number else length,
            "permission": [{"id": "modelperm-1", "object": "model_permission"}],
        }
        for number, name in enumerate(names)
    ]
    return reply({"object": "list", "data": rows})


def sglang_models(name):
    row = {"id": name, "object": "model", "created": 1, "owned_by": "sglang", "root": name}
    return reply({"object": "list", "data": [{**row, "parent": None, "max_model_len": 32768}]})


def vllm_answer(model, text="Fine.", finish_reason="stop"):
    """``ChatCompletionResponse`` of vLLM: an adapter that answers is named, not its model."""
    further = {"service_tier": None, "prompt_logprobs": None, "kv_transfer_params": None}
    return completion(text, finish_reason, model=model, object="chat.completion", **further)


def sglang_answer(model, text="Fine.", finish_reason="stop"):
    """``ChatCompletionResponse`` of SGLang, which repeats the name that it was asked by."""
    return completion(text, finish_reason, model=model, metadata={"weight_version": "default"})


def sglang_error(status, message, kind):
    body = {"object": "error", "message": message, "type": kind, "param": None, "code": status}
    return reply(body, status)


@pytest.fixture
def server(server, monkeypatch):
    """A server of one's own, as vLLM starts it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("AOR_SERVER_URL", server.url)
    server.models = vllm_models(MODEL)
    server.reply = lambda request: vllm_answer(request["model"])
    return server


def card(id="qwen2-audio-7b-instruct-served", **reach):
    shipped = SHIPPED[id]
    return shipped.model_copy(update={"reach": shipped.reach | {"max_retries": 1, **reach}})


def sent(server):
    return [request.body for request in server.requests if request.body]


@pytest.mark.parametrize("open_", OPEN.values(), ids=lambda card: card.id)
def test_each_open_model_has_a_card_of_its_server_with_an_id_and_a_title_of_its_own(open_):
    served = SHIPPED[f"{open_.id}-served"]
    assert served.id == f"{open_.id}-served"
    assert served.title == f"{open_.title}, served"
    assert served.source == open_.source
    assert f"The model of the card {open_.id}," in served.note


@pytest.mark.parametrize("served", SHIPPED.values(), ids=lambda card: card.id)
def test_a_command_starts_the_cards_model_in_its_revision_with_sounds_and_no_pictures(served):
    program, verb, model, *flags = shlex.split(served.launch)
    assert (program, verb, model) == ("vllm", "serve", served.source)
    options = dict(itertools.pairwise(flags))
    assert options["--revision"] == served.revision
    assert len(served.revision) == 40
    limits = json.loads(options["--limit-mm-per-prompt"])
    # The longest history of the study has five clips in all.
    assert limits.pop("audio") == served.reach.get("clips", 5)
    assert not any(limits.values())
    assert served.settings["extra"] == {"repetition_penalty": 1.0}


def test_a_profile_names_a_served_model_as_any_other(write_profile):
    (served,) = load_study(write_profile(models=["gemma-3n-e4b-it-served"])).models
    assert served == SHIPPED["gemma-3n-e4b-it-served"]


def test_the_twelve_are_loaded_without_them():
    assert not set(load_model_cards()) & set(SHIPPED)
    assert {path.stem for path in (PARAMS / SERVED).iterdir()} == set(SHIPPED)


@pytest.mark.parametrize(
    ("models", "answer", "described"),
    [
        (vllm_models(MODEL), vllm_answer(MODEL), f"(vllm) of {MODEL}, at most 8192 tokens"),
        (sglang_models(MODEL), sglang_answer(MODEL), f"(sglang) of {MODEL}, at most 32768 tokens"),
    ],
    ids=["vllm", "sglang"],
)
def test_what_a_server_says_of_its_model_is_kept_with_who_answered(
    server, models, answer, described
):
    server.models, server.reply = models, lambda _: answer
    model = OpenAIModel(card())
    assert model.answer([SPOKEN], GENERATION) == [
        Answer("Fine.", 5, finish_reason="stop", served_by=MODEL)
    ]
    assert provenance_of(model).device == f"a server {described}"


@pytest.mark.parametrize(
    ("id", "models", "problem"),
    [
        ("qwen2-audio-7b-instruct", ["Qwen/Qwen3-8B"], f"has no '{MODEL}', but Qwen/Qwen3-8B"),
        ("phi-4-multimodal-instruct", [PHI4], "has no 'speech'"),
    ],
)
def test_a_server_that_has_another_model_or_no_adapter_is_asked_nothing(
    server, id, models, problem
):
    server.models = vllm_models(*models)
    with pytest.raises(ModelError, match=problem):
        OpenAIModel(card(f"{id}-served"))
    assert not sent(server)


@pytest.mark.parametrize(
    "models",
    [None, (404, {}, b'{"detail": "Not Found"}'), (200, {}, b"[1]"), (200, {}, b"{")],
)
def test_a_server_that_is_not_ready_is_said_with_the_command_that_starts_it(server, models):
    server.models = models
    with pytest.raises(ModelError, match=r"is not ready: .*'aor models launch qwen2-audio-7b-inst"):
        OpenAIModel(card())
    assert not sent(server)


def test_no_key_is_sent_where_none_is_asked_for(server):
    OpenAIModel(card()).answer([SPOKEN], GENERATION)
    assert len(server.requests) == 2
    for request in server.requests:
        assert "authorization" not in request.headers


def test_a_server_that_asks_for_a_key_after_all_ends_the_run(server):
    server.reply = lambda _: reply({"error": "Unauthorized"}, 401)
    with pytest.raises(ModelError, match="asks for a key, and the card names no api_key_variable"):
        OpenAIModel(card()).answer([SPOKEN], GENERATION)


def test_sound_is_sent_as_a_data_url_and_a_penalty_that_a_checkpoint_brings_is_off(server):
    OpenAIModel(card()).answer([SPOKEN], GENERATION)
    [body] = sent(server)
    [part] = body["messages"][0]["content"]
    head, _, data = part["audio_url"]["url"].partition(",")
    samples, rate = soundfile.read(io.BytesIO(base64.b64decode(data)))
    assert (part["type"], head) == ("audio_url", "data:audio/wav;base64")
    assert (len(samples), rate) == (1600, 16_000)
    assert body["repetition_penalty"] == 1.0
    assert body["max_completion_tokens"] == 7


@pytest.mark.parametrize(
    ("conversation", "name"),
    [((*SPOKEN, Turn("assistant", text="Yes?"), *WRITTEN), "speech"), (WRITTEN, PHI4)],
)
def test_phi4s_speech_adapter_is_asked_where_there_is_sound_and_nowhere_else(
    server, conversation, name
):
    phi4 = card("phi-4-multimodal-instruct-served")
    server.models = vllm_models(phi4.source, "speech")
    [answer] = OpenAIModel(phi4).answer([conversation], GENERATION)
    assert [body["model"] for body in sent(server)] == [name]
    assert answer.served_by == phi4.source, "both are one model in the store"


def test_voxtral_gets_its_instruction_in_the_users_turn(server):
    voxtral = card("voxtral-mini-3b-2507-served")
    server.models = vllm_models(voxtral.source)
    instructed = (Turn("system", text="Think first."), *SPOKEN)
    OpenAIModel(voxtral).answer([instructed], GENERATION)
    [body] = sent(server)
    [turn] = body["messages"]
    assert turn["role"] == "user"
    assert turn["content"][0] == {"type": "text", "text": "Think first."}
    assert turn["content"][1]["type"] == "audio_url"


@pytest.mark.parametrize(
    ("answer", "tries", "reason"),
    [
        (error(400, "At most 1 audio(s) may be provided in one prompt."), 1, "At most 1 audio"),
        (sglang_error(503, "The request queue is full.", "503"), 2, "queue is full"),
        (sglang_answer(MODEL, "", "abort"), 1, "broke the answer off"),
        (vllm_answer(MODEL, "Half an ans", "error"), 1, "broke the answer off"),
    ],
)
def test_an_error_of_a_server_is_a_failure_that_a_later_run_asks_again(
    server, answer, tries, reason
):
    server.reply = lambda _: answer
    [failure] = OpenAIModel(card()).answer([SPOKEN], GENERATION)
    assert isinstance(failure, Failure)
    assert reason in failure.error
    assert not failure.lasting
    assert not failure.blocked
    assert len(sent(server)) == tries


def test_weights_that_a_server_has_under_the_models_name_are_named(server):
    status, headers, body = vllm_models(MODEL)
    server.models = status, headers, body.replace(b'"root": "Qwen/', b'"root": "fine-tuned/')
    assert f"{MODEL} (fine-tuned/Qwen2-Audio-7B-Instruct)" in OpenAIModel(card()).served
