"""Models behind a server of one's own, against one on this machine that answers as vLLM 0.33.0."""

import itertools
import json
import shlex

import numpy as np
import pytest

from aor_lib.audio.clip import Clip
from aor_lib.config.params import SERVED, load_model_cards
from aor_lib.config.records import Generation
from aor_lib.models.base import Turn
from aor_lib.models.openai_api import OpenAIModel
from tests.models.loopback import completion, error, json_reply

SHIPPED = load_model_cards(folder=SERVED)
OPEN = [card for card in load_model_cards().values() if card.kind == "hf"]
QWEN = SHIPPED["qwen2-audio-7b-instruct-served"]
SOUND = Clip((np.arange(-800, 800) / 1024).astype(np.float32), 16_000)
SPOKEN = (Turn("user", audio=SOUND),)
GENERATION = Generation(max_new_tokens=7, temperature=1.0)


@pytest.fixture
def server(server, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "somebody-else")
    monkeypatch.setenv("AOR_SERVER_URL", server.url)
    server.reply = lambda request: completion("Fine.", model=request["model"])
    return server


def test_each_open_model_has_a_card_of_its_server():
    assert {card.source for card in OPEN} <= {card.source for card in SHIPPED.values()}


@pytest.mark.parametrize("served", SHIPPED.values(), ids=lambda card: card.id)
def test_a_command_starts_the_cards_model_in_its_revision_with_sounds_and_no_pictures(served):
    program, verb, model, *flags = shlex.split(served.launch)
    assert (program, verb, model) == ("vllm", "serve", served.source)
    options = dict(itertools.pairwise(flags))
    assert options["--revision"] == served.revision
    assert len(served.revision) == 40 or "do not know the commit" in served.note
    limits = json.loads(options["--limit-mm-per-prompt"])
    # The longest history of the study has five clips in all.
    assert limits.pop("audio") == served.reach.get("clips", 5)
    assert not any(limits.values())
    assert served.settings["extra"] == {"repetition_penalty": 1.0, "top_k": -1, "min_p": 0.0}


def test_sound_is_sent_as_a_data_url_without_a_key_and_drawn_from_the_whole_distribution(server):
    OpenAIModel(QWEN).answer([SPOKEN], GENERATION)
    [request] = server.requests
    assert request.headers["authorization"] == "Bearer none", "the key is for somebody else"
    assert "somebody-else" not in request.headers.values()
    [part] = request.body["messages"][0]["content"]
    assert part["type"] == "audio_url"
    assert part["audio_url"]["url"].startswith("data:audio/wav;base64,")
    sampling = ("temperature", "repetition_penalty", "top_p", "top_k", "min_p")
    assert [request.body[name] for name in sampling] == [1, 1, 1, -1, 0]


def test_a_clip_that_a_server_would_cut_is_refused_by_file_and_seconds(server, tmp_path):
    Clip(np.zeros(31 * 8_000, np.float32), 8_000).save(tmp_path / "long.flac")
    model = OpenAIModel(QWEN)
    [refused] = model.answer([(Turn("user", audio=tmp_path / "long.flac"),)], GENERATION)
    assert f"{tmp_path / 'long.flac'}: 31.0 s" in refused.error
    assert model.capabilities.longest_clip_s == 30
    assert not server.requests


def test_a_server_is_asked_how_likely_first_tokens_are(server):
    likely = [{"token": name, "logprob": value} for name, value in (("A", -0.5), ("B", -1.5))]
    logprobs = {"content": [{"token": "A", "top_logprobs": likely}]}
    server.reply = lambda _: json_reply({"choices": [{"logprobs": logprobs}]})
    assert OpenAIModel(QWEN).first_logprobs(SPOKEN) == {"A": -0.5, "B": -1.5}
    server.reply = lambda _: error(400, "no logprobs here")
    assert OpenAIModel(QWEN).first_logprobs(SPOKEN) == {}


def test_phi4s_speech_adapter_is_asked_where_there_is_sound_and_nowhere_else(server):
    phi4 = SHIPPED["phi-4-multimodal-instruct-served"]
    answers = OpenAIModel(phi4).answer([SPOKEN, (Turn("user", text="Hello"),)], GENERATION)
    assert {body["model"] for body in server.bodies} == {"speech", phi4.source}
    assert {answer.served_by for answer in answers} == {phi4.source}, "one model in the store"


def test_voxtral_gets_its_instruction_in_the_users_turn(server):
    voxtral = SHIPPED["voxtral-mini-3b-2507-served"]
    OpenAIModel(voxtral).answer([(Turn("system", text="Think first."), *SPOKEN)], GENERATION)
    [body] = server.bodies
    [turn] = body["messages"]
    assert turn["role"] == "user"
    assert turn["content"][0] == {"type": "text", "text": "Think first."}
    assert turn["content"][1]["type"] == "audio_url"
