import base64
import io
import itertools
import logging
import re
import socket
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
import soxr

from aor_lib.audio.clip import Clip
from aor_lib.config.params import ModelCard
from aor_lib.config.records import Generation
from aor_lib.config.typed_yaml import ParamsError
from aor_lib.inference.asking import provenance_of
from aor_lib.models import openai_api
from aor_lib.models.api_settings import ApiSettings
from aor_lib.models.base import Answer, Failure, ModelError, Turn
from aor_lib.models.openai_api import OpenAIModel
from tests.models.loopback import KEY, completion, error, json_reply, streamed

GENERATION = Generation(max_new_tokens=7, temperature=0.5, seed=11)
PRICES = {"text_input": 0, "audio_input": 0, "output": 1e6, "audio_tokens_per_s": 10}
"""A request may cost 7 USD; an answer of five tokens costs 5."""
FINE = Answer("Fine.", 5, finish_reason="stop")
BROKEN_OFF = (200, {"content-length": "999"}, b'{"choices": [{"index"')
VLLM = {
    "/v1/models": {"data": [{"id": "tiny", "owned_by": "vllm", "max_model_len": 8192}]},
    "/version": {"version": "0.33.0"},
}
LLAMA = {"/v1/models": {"data": [{"owned_by": "llamacpp", "meta": {"n_ctx": 4096}}]}}


def card(server=None, source="tiny", **settings):
    """A card whose settings stand where they belong; those that nobody knows are settings."""
    if server is not None:
        settings["base_url"] = server.url
    settings = {"api_key_variable": "TEST_KEY", "max_retries": 2, **settings}
    reach = {name: settings.pop(name) for name in ApiSettings.REACH & settings.keys()}
    about = {"id": "tiny-api", "title": "Tiny", "family": "Test", "kind": "openai_api"}
    return ModelCard(**about, licence="none", source=source, settings=settings, reach=reach)


def ask(text):
    return (Turn("user", text=text),)


def answer_to(server, reply, **settings):
    """The result of one question to a server that always replies the same."""
    server.reply = lambda _: reply
    [result] = OpenAIModel(card(server, **settings)).answer([ask("Hello")], GENERATION)
    return result


def answers_in(results):
    return sum(isinstance(result, Answer) for result in results)


def test_answers_keep_their_order_and_no_more_than_asked_are_under_way(server):
    together = threading.Barrier(3)

    def reply(request):
        # Passed only if three requests are here at once, each on a connection of its own.
        together.wait(timeout=10)
        return completion(request["messages"][0]["content"][0]["text"].upper())

    server.reply = reply
    questions = [ask(f"number {i}") for i in range(12)]
    answers = OpenAIModel(card(server, concurrency=3)).answer(questions, GENERATION)
    assert [answer.text for answer in answers] == [f"NUMBER {i}" for i in range(12)]
    assert len(server.connections) == 3


def test_a_request_holds_the_sound_and_the_settings(server, tmp_path):
    samples = np.random.default_rng(0).integers(-9000, 9000, 2400).astype(np.int16)
    soundfile.write(tmp_path / "clip.flac", np.stack([2 * samples, 0 * samples], axis=1), 24_000)
    asked = (Turn("system", text="Think first."), Turn("user", audio=tmp_path / "clip.flac"))
    named = card(server, f"{'tiny' * 40}-{KEY}", extra={"reasoning_effort": "none"})
    server.reply = lambda request: completion("Fine.", model=request["model"])
    assert answers_in(OpenAIModel(named).answer([asked], GENERATION)) == 1
    [request] = server.requests
    system, spoken = request.body.pop("messages")
    drawn = {"max_completion_tokens": 7, "temperature": 0.5, "top_p": 1.0, "seed": 11}
    assert request.body == {"model": named.source, "reasoning_effort": "none"} | drawn
    [part] = spoken["content"]
    wav = io.BytesIO(base64.b64decode(part["input_audio"]["data"]))
    sent, rate = soundfile.read(wav, dtype="int16")
    assert rate == 16_000
    np.testing.assert_allclose(sent, soxr.resample(samples / 2.0**15, 24_000, rate) * 2**15, atol=2)
    assert system == {"role": "system", "content": [{"type": "text", "text": "Think first."}]}
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"


NO_ANSWER = [
    (error(500, "boom"), 3, False, "InternalServerError: .*boom"),
    (completion("Half an ans", "abort"), 1, False, ".*abort"),
    (completion("Half an ans", "TIMEOUT"), 1, False, ".*timeout"),
    (json_reply({"choices": [{"native_finish_reason": "error"}]}), 1, False, ".*broke .*error"),
    (completion("\0 \u200b\ufeff"), 1, False, "empty answer: "),
    (BROKEN_OFF, 3, False, "ContentLengthError: "),
    ((200, {}, b'{"choices": [{"index"'), 1, False, "JSONDecodeError: "),
    ((413, {}, b"<h1>Too large"), 1, False, "APIStatusError: .*<h1>Too large"),
    (completion(" ", "length"), 1, False, "empty answer: .*length"),
    (completion("[Gateway] Upstream gave nothing."), 1, False, "a gateway's error .*Upstream"),
    ((200, {}, b'{"choices": []}'), 1, False, "malformed response: "),
    ((200, {}, b'{"error": {"message": "too fast"}}'), 1, False, ".*too fast"),
    ((200, {}, b'{"choices": [{"error": {"code": 502}}]}'), 1, False, ".*502"),
    (completion(None, "refusal"), 1, True, "content filter: "),
    (completion("Half an ans", "content_filter"), 1, True, "content filter: "),
    ((200, {}, b'{"promptFeedback": {"blockReason": "OTHER"}}'), 1, True, "content filter"),
    (error(400, "no", code="content_filter"), 1, True, "content filter: "),
    ((200, {}, b'{"error": {"code": "data_inspection_failed"}}'), 1, True, "error .*inspection"),
    (streamed("Half an ans", finish_reason=None), 1, False, ".*broke the answer off"),
    (streamed("Half an ans", finish_reason=""), 1, False, ".*broke the answer off"),
    (streamed("Half an ans", finish_reason="content_filter"), 1, True, "content filter: "),
    (streamed("Half an ans", error={"message": "too fast"}), 1, False, ".*too fast"),
    (streamed(), 1, False, "empty answer: "),
    ((*streamed()[:2], b'data: {"choices": [{"del'), 1, False, ""),
    ((*streamed()[:2], b'data: {"choices": [{"delta": {"content": 3}}]}'), 1, False, ""),
    ((*streamed()[:2], b""), 1, False, "malformed response: "),
]
"""Replies without an answer, how often each is tried, whether it blocks, and what is said."""


@pytest.mark.parametrize(("reply", "tries", "blocked", "says"), NO_ANSWER)
def test_no_answer_is_a_failure_and_says_whether_to_ask_again(server, reply, tries, blocked, says):
    result = answer_to(server, reply, stream=reply[1] == streamed()[1])
    assert result == Failure(result.error, blocked=blocked)
    assert re.match(says, result.error), result.error
    assert "Half an ans" not in result.error
    assert len(server.requests) == tries


def test_what_is_cut_off_comes_in_parts_or_pieces_or_refuses_in_its_own_field_is_an_answer(server):
    assert answer_to(server, streamed("Fi", "ne."), stream=True) == FINE
    assert server.bodies[0]["stream_options"] == {"include_usage": True}
    cut_off = answer_to(server, completion("Well, it", "length"))
    assert cut_off == Answer("Well, it", 5, finish_reason="length")
    parts = [{"type": "thinking", "thinking": "A game."}, {"type": "text", "text": "Well, it"}]
    assert answer_to(server, completion(parts, "length")) == cut_off
    replies = [completion(text, refusal="I can't.") for text in (None, " ")]
    for reply in (*replies, completion([{"type": "refusal", "refusal": "I can't."}])):
        assert answer_to(server, reply) == Answer("I can't.", 5, finish_reason="stop")


def test_a_file_that_cannot_be_read_fails_alone(server, tmp_path):
    (tmp_path / "bad.wav").write_bytes(b"RIFF, or so it says")
    Clip(np.zeros(0, np.float32), 24_000).save(tmp_path / "empty.wav")
    broken = [(Turn("user", audio=tmp_path / f"{n}.wav"),) for n in ("bad", "missing", "empty")]
    asked = [ask("good"), *broken, ask("good")]
    first, *failures, last = OpenAIModel(card(server)).answer(asked, GENERATION)
    assert first == last == FINE
    assert all(isinstance(failure, Failure) for failure in failures)


def test_no_more_is_spent_than_the_cap_allows_in_all_calls(server):
    replies = [error(500, "boom")] * 5
    server.reply = lambda _: replies.pop() if replies else completion("Fine.")
    settings = {"max_spend_usd": 52, "usd_per_million_tokens": PRICES, "max_retries": 9}
    model = OpenAIModel(card(server, concurrency=4, **settings))
    assert answers_in(model.answer([ask("1"), ask("2")], GENERATION)) == 2
    # The four at once are reserved at 7 USD each, and cost 5; an error costs nothing.
    assert 4 <= answers_in(model.answer([ask(f"{i}") for i in range(100)], GENERATION)) <= 10 - 2
    with pytest.raises(ModelError, match=r"^tiny-api: max_spend_usd \(52\)"):
        model.answer([ask("more")], GENERATION)
    assert len(server.requests) <= 5 + 10


@pytest.mark.parametrize("reply", [BROKEN_OFF, *(error(n, "late") for n in (408, 504, 524))])
def test_what_may_have_been_made_but_did_not_arrive_is_spent(server, reply):
    settings = {"max_spend_usd": 20, "usd_per_million_tokens": PRICES, "max_retries": 9}
    for _ in range(2):
        with pytest.raises(ModelError, match="14"):
            answer_to(server, reply, **settings)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("reply", "key", "expected"),
    [
        (error(401, f"Incorrect API key: {KEY[:8]}****"), "TEST_KEY", "TEST_KEY"),
        (error(401, "Where is your key?"), None, "no key .*api_key_variable"),
        (error(404, "no model tiny"), "TEST_KEY", "no model tiny"),
        (completion("Fine.", model="tiny-lite"), "TEST_KEY", "tiny-lite"),
        (error(402, "used up"), "TEST_KEY", "used up"),
        (error(429, "tomorrow", retry_after="3600"), "TEST_KEY", "3600 s"),
        (error(429, "no", retry_after="Fri, 31 Dec 2100 23:59:59 GMT"), "TEST_KEY", r"\d{9,} s"),
        ((429, {}, b'[{"error": {"details": [{"retryDelay": "3600s"}]}}]'), "TEST_KEY", "3600 s"),
    ],
)
def test_what_no_request_would_get_past_ends_the_run(server, reply, key, expected):
    with pytest.raises(ModelError, match=f"^tiny-api: .*{expected}") as ended:
        answer_to(server, reply, api_key_variable=key)
    assert KEY[:8] not in str(ended.value)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("pages", "fingerprint", "expected"),
    [
        (VLLM, None, "vllm, 0.33.0, context of 8192 tokens"),
        (LLAMA, "b6000-abc", "llamacpp, context of 4096 tokens, b6000-abc"),
        ({"/v1/models": ["?"], "/version": 3}, None, "the provider's"),
    ],
)
def test_what_a_server_says_of_itself_is_known(server, pages, fingerprint, expected):
    server.pages = pages
    server.reply = lambda _: completion("Fine.", system_fingerprint=fingerprint)
    model = OpenAIModel(card(server, api_key_variable=None))
    model.answer([ask("1")], GENERATION)
    assert provenance_of(model).device == expected


@pytest.mark.parametrize(("back", "answers"), [(completion("Fine."), 2), (error(400, "no"), 0)])
def test_a_restarted_server_is_waited_for_and_it_is_said_once(server, caplog, back, answers):
    settings = {"restart_s": 600, "max_retries": 1, "concurrency": 1, "api_key_variable": None}
    server.pages, model = VLLM, OpenAIModel(card(server, **settings))
    before = provenance_of(model).device
    away = itertools.repeat(error(503, "loading"), 20)
    server.pages, server.reply = LLAMA, lambda _: next(away, back)
    assert answers_in(model.answer([ask("1"), ask("2")], GENERATION)) == answers
    assert provenance_of(model).device != before
    assert len(server.requests) == 22
    [said] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert re.fullmatch("tiny-api: .*600 s.*loading.*", said)


def test_a_request_that_fails_each_time_while_others_are_answered_is_not_waited_for(server):
    def reply(body):
        return error(502, "no worker") if "odd" in str(body) else completion("Fine.")

    server.reply, settings = reply, {"restart_s": 600, "max_retries": 0, "concurrency": 2}
    model = OpenAIModel(card(server, **settings))
    results = model.answer([ask("odd"), *[ask(str(n)) for n in range(20)]], GENERATION)
    assert answers_in(results) == 20
    assert "502" in results[0].error


def test_no_proxy_stands_before_this_machine_whatever_it_is_called(server, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    server.reply = lambda _: completion("Fine.")
    for url in (server.url, server.url.replace("127.0.0.1", "localhost")):
        assert OpenAIModel(card(base_url=url)).answer([ask("1")], GENERATION) == [FINE]


def test_a_wait_that_is_interrupted_leaves_the_next_one_its_time(server, monkeypatch):
    waits, submit, times = threading.Event(), openai_api._submit, iter([0.0, 1000.0])

    def interrupted(coroutine):
        waits.clear()
        future = submit(coroutine)
        future.add_done_callback(lambda _: waits.set())

        def result():
            waits.wait()
            if future.done():
                return future.result()
            raise KeyboardInterrupt

        return SimpleNamespace(result=result, cancel=future.cancel)

    model = OpenAIModel(card(server, restart_s=60))
    monkeypatch.setattr(openai_api, "_submit", interrupted)
    monkeypatch.setattr(openai_api, "time", SimpleNamespace(monotonic=times.__next__))
    monkeypatch.setattr(openai_api._log, "warning", lambda _: waits.set())
    server.reply = lambda _: error(503, "loading", retry_after="60")
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            model.answer([ask("1")], GENERATION)


def test_an_address_without_a_host_ends_the_run_at_once_whatever_may_be_waited_for(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    model = OpenAIModel(card(base_url="http://no-such-host:8000/v1", restart_s=600))
    with pytest.raises(ModelError, match="no-such-host"):
        model.answer([ask("1")], GENERATION)


@pytest.mark.parametrize("reply", [error(503, "loading"), "nobody listens"])
def test_a_server_that_stays_away_ends_the_run(server, reply):
    server.reply = lambda _: reply
    if isinstance(reply, str):
        server.shutdown()
        server.server_close()
    model = OpenAIModel(card(server, restart_s=1e-9, max_retries=0))
    with pytest.raises(ModelError, match=r"^tiny-api: the server at http.* was away"):
        model.answer([ask("1"), ask("2")], GENERATION)


def test_a_request_that_hangs_ends_by_the_cards_timeout_and_is_asked_again(server):
    answered = threading.Event()
    waits = iter([lambda: answered.wait(timeout=60)])

    def reply(_):
        next(waits, lambda: True)()
        return completion("Fine.")

    server.reply = reply
    assert OpenAIModel(card(server, timeout_s=0.2)).answer([ask("1")], GENERATION) == [FINE]
    answered.set()
    assert len(server.requests) == 2


def test_the_key_is_in_no_log_or_message(server, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    replies = [error(500, f"boom {KEY}"), error(400, f"what is {KEY}"), None]
    replies += [(200, {}, body.encode()) for body in (f'{{"choices": "{KEY}"}}', KEY)]
    results = [answer_to(server, reply, max_retries=0) for reply in replies]
    with pytest.raises(ModelError) as unknown:
        answer_to(server, error(404, f"{KEY} may not use it"))
    model = OpenAIModel(card(server))
    shown = f"{model!r} {model.card!r} {results} {unknown.value} {caplog.text} {capfd.readouterr()}"
    assert all(isinstance(result, Failure) for result in results)
    assert "[key]" in shown
    assert "Sending HTTP Request" in shown
    assert KEY not in shown


@pytest.mark.parametrize(
    ("key", "settings", "kind", "message"),
    [
        ("", {}, ModelError, "TEST_KEY"),
        ("k", {"base_url": "$NO_URL"}, ModelError, "NO_URL"),
        ("k", {"base_url": "https://me:pw@host/v1"}, ModelError, "tiny-api: base_url (?!.*pw)"),
        ("k", {"base_url": "$TEST_KEY.host/v1?code=pw"}, ModelError, "tiny-api: base_url (?!.*pw)"),
        ("k", {"concurency": 2}, ParamsError, "tiny-api: settings: concurency"),
        ("k", {"max_spend_usd": 2}, ParamsError, "usd_per_million_tokens"),
    ],
)
def test_what_it_needs_is_said(monkeypatch, key, settings, kind, message):
    monkeypatch.setenv("TEST_KEY", key)
    with pytest.raises(kind, match=message):
        OpenAIModel(card(**settings))
